// PackedLinear: the weights of y = x W^T, W [num_outputs][num_cols], packed for the kernels of all levels.
//
// Outputs are cut in panels of 16 (the last one padded with zero weights), columns in blocks of 32 (padded
// with zeros). A panel is contiguous, so one output panel is one stream from memory:
//
//   kF32     [K][16]                    F32
//   kBF16    [K / 2][16][2]             BF16: pairs of columns per output, a B operand of the tile units as
//   it lies kF16     [K][16]                    F16 bits kCodes8  [K / g] records of  { codes [g][16] int8,
//   scales [16], mins [16] } kCodes4  [K / g] records of  { nibbles [g / 2][16] bytes,      scales [16], mins
//   [16] }
//            a byte holds the nibble of the even column (low) and of the odd column (high); code =
//            table[nibble]
//
// g is the group size, 16 or 32. Scales and mins are F16 where both are exact in F16, else F32; mins only
// where the format has them. The numeric definition of each packing: docs/contracts/numerics.md. Thread:
// PackPanel may run for different panels at once; afterwards the object is const and shared.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/aligned_buffer.h"
#include "kernels/activation.h"
#include "tensor/canonical.h"

namespace firebrick {

inline constexpr int64_t kPanelOutputs = 16;

enum class Packing : uint8_t { kF32, kBF16, kF16, kCodes8, kCodes4 };
inline constexpr size_t kNumPackings = 5;
// How weights of a format are packed.
Packing PackingOf(const CanonicalFormat& format);

class PackedLinear {
 public:
  PackedLinear() = default;
  // Room for a matrix of a canonical format. Charged to the account kWeights.
  static Result<PackedLinear> Create(const CanonicalFormat& format, int64_t num_outputs, int64_t num_cols);

  // Packs outputs [16 * panel, ...): rows.num_rows is 16, or what is left for the last panel; rows.format and
  // rows.num_cols are those of Create.
  void PackPanel(int64_t panel, const CanonicalRows& rows);

  // The same straight from the bytes of a file, for formats whose canonical form is those bytes: saves a
  // copy. False, and nothing is packed, where the format or the panel is another: 16 rows of BF16 or F16.
  bool TryPackPanelFrom(int64_t panel, const std::byte* rows);

  // The values of one row of W as FP32, [num_cols]: for embeddings tied to the output matrix.
  void UnpackRow(int64_t output, float* out) const;

  bool empty() const { return num_outputs_ == 0; }
  Packing packing() const { return packing_; }
  const CanonicalFormat& format() const { return format_; }
  int64_t num_outputs() const { return num_outputs_; }
  int64_t num_cols() const { return num_cols_; }
  int64_t padded_cols() const { return padded_cols_; }
  int64_t num_panels() const { return (num_outputs_ + kPanelOutputs - 1) / kPanelOutputs; }
  // What its kernels read of an Activation.
  ActivationNeeds needs() const;
  size_t resident_bytes() const { return buffer_.size(); }

  const std::byte* panel(int64_t index) const { return buffer_.data() + index * panel_bytes_; }
  int64_t panel_bytes() const { return panel_bytes_; }
  // Grouped packings: a record, and where its scales and mins begin.
  int64_t record_bytes() const { return record_bytes_; }
  int64_t scales_offset() const { return scales_offset_; }
  int64_t mins_offset() const { return mins_offset_; }
  // kF16: false where every weight of the panel is exact in BF16, so that its low parts are all zero.
  bool HasLowParts(int64_t panel) const { return low_parts_.data()[panel] != std::byte{0}; }

 private:
  void PackGroupedPanel(const CanonicalRows& rows, std::byte* panel) const;
  bool TryPackWholeGrouped(const CanonicalRows& rows, std::byte* panel) const;
  CanonicalFormat format_;
  Packing packing_ = Packing::kF32;
  int64_t num_outputs_ = 0;
  int64_t num_cols_ = 0;
  int64_t padded_cols_ = 0;
  int64_t panel_bytes_ = 0;
  int64_t record_bytes_ = 0;
  int64_t scales_offset_ = 0;
  int64_t mins_offset_ = 0;
  AlignedBuffer buffer_;
  AlignedBuffer low_parts_;  // kF16: one byte per panel
};

}  // namespace firebrick
