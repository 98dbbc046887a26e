#include "kernels/packed_linear.h"

#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "tensor/float_bits.h"

namespace firebrick {
namespace {

constexpr int64_t kSpan = kPanelOutputs;  // values that lie together for one column: one per output

Packing PackingOf(const CanonicalFormat& format) {
  switch (format.form) {
    case CanonicalForm::kF32:
      return Packing::kF32;
    case CanonicalForm::kBF16:
      return Packing::kBF16;
    case CanonicalForm::kF16:
      return Packing::kF16;
    case CanonicalForm::kGrouped:
      return format.code_bits == 4 ? Packing::kCodes4 : Packing::kCodes8;
  }
  return Packing::kF32;
}

void PackF32Panel(const CanonicalRows& rows, float* out) {
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      out[k * kSpan + r] = rows.f32[static_cast<size_t>(r * rows.num_cols + k)];
    }
  }
}

void PackBf16Panel(const CanonicalRows& rows, uint16_t* out) {
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    uint16_t* pair = out + (k / 2) * kSpan * 2 + k % 2;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      pair[r * 2] = rows.half[static_cast<size_t>(r * rows.num_cols + k)];
    }
  }
}

// Returns whether a weight needs more than the upper 16 bits of its FP32 value.
bool PackF16Panel(const CanonicalRows& rows, uint16_t* out) {
  uint32_t low_bits = 0;
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const uint16_t bits = rows.half[static_cast<size_t>(r * rows.num_cols + k)];
      out[k * kSpan + r] = bits;
      low_bits |= std::bit_cast<uint32_t>(F16ToF32(bits)) & 0xFFFF;
    }
  }
  return low_bits != 0;
}

// nibble[code + 128] of a table of 16 codes.
std::array<uint8_t, 256> InvertTable(const int8_t* table) {
  std::array<uint8_t, 256> nibbles{};
  for (uint8_t nibble = 0; nibble < 16; ++nibble) nibbles[static_cast<size_t>(table[nibble] + 128)] = nibble;
  return nibbles;
}

// One value per output of a group, [num_groups] apart in `values`, as F16 or F32.
void PackSpan(const float* values, int64_t num_rows, int64_t num_groups, bool f16, std::byte* out) {
  for (int64_t r = 0; r < num_rows; ++r) {
    const float value = values[r * num_groups];
    if (f16) {
      const uint16_t bits = F32ToF16(value);
      std::memcpy(out + r * 2, &bits, 2);
    } else {
      std::memcpy(out + r * 4, &value, 4);
    }
  }
}

}  // namespace

Result<PackedLinear> PackedLinear::Create(const CanonicalFormat& format, int64_t num_outputs,
                                          int64_t num_cols) {
  CHECK(num_outputs > 0 && num_cols > 0);
  PackedLinear linear;
  linear.format_ = format;
  linear.packing_ = PackingOf(format);
  linear.num_outputs_ = num_outputs;
  linear.num_cols_ = num_cols;
  linear.padded_cols_ = PadToBlock(num_cols);
  const int64_t values = linear.padded_cols_ * kSpan;
  if (format.form == CanonicalForm::kGrouped) {
    const int64_t group = format.group_size;
    CHECK(group == 16 || group == 32);
    CHECK(num_cols % group == 0);
    CHECK(format.code_bits == 8 || (format.code_bits == 4 && format.code_table != nullptr));
    const int64_t codes_bytes = group * kSpan * format.code_bits / 8;
    const int64_t span_bytes = kSpan * (format.f16_scales ? 2 : 4);
    linear.scales_offset_ = codes_bytes;
    linear.mins_offset_ = codes_bytes + span_bytes;
    linear.record_bytes_ = codes_bytes + span_bytes * (format.has_min ? 2 : 1);
    linear.panel_bytes_ = linear.padded_cols_ / group * linear.record_bytes_;
  } else {
    linear.panel_bytes_ = values * (format.form == CanonicalForm::kF32 ? 4 : 2);
  }
  const auto bytes = static_cast<size_t>(linear.panel_bytes_ * linear.num_panels());
  ASSIGN_OR_RETURN(linear.buffer_, AlignedBuffer::Allocate(MemoryAccount::kWeights, bytes));
  if (linear.packing_ == Packing::kF16) {
    const auto panels = static_cast<size_t>(linear.num_panels());
    ASSIGN_OR_RETURN(linear.low_parts_, AlignedBuffer::Allocate(MemoryAccount::kWeights, panels));
  }
  return linear;
}

void PackedLinear::PackPanel(int64_t panel, const CanonicalRows& rows) {
  CHECK(panel >= 0 && panel < num_panels());
  const int64_t left = num_outputs_ - panel * kPanelOutputs;
  CHECK(rows.num_rows == (left < kPanelOutputs ? left : kPanelOutputs));
  CHECK(rows.num_cols == num_cols_ && rows.format == format_);
  std::byte* out = buffer_.data() + panel * panel_bytes_;
  switch (packing_) {
    case Packing::kF32:
      PackF32Panel(rows, reinterpret_cast<float*>(out));
      break;
    case Packing::kBF16:
      PackBf16Panel(rows, reinterpret_cast<uint16_t*>(out));
      break;
    case Packing::kF16:
      low_parts_.data()[panel] = std::byte{PackF16Panel(rows, reinterpret_cast<uint16_t*>(out))};
      break;
    case Packing::kCodes8:
    case Packing::kCodes4:
      PackGroupedPanel(rows, out);
      break;
  }
}

void PackedLinear::PackGroupedPanel(const CanonicalRows& rows, std::byte* panel) const {
  const int64_t group = format_.group_size;
  const int64_t num_groups = num_cols_ / group;
  std::array<uint8_t, 256> nibbles{};
  if (packing_ == Packing::kCodes4) nibbles = InvertTable(format_.code_table);
  for (int64_t g = 0; g < num_groups; ++g) {
    std::byte* record = panel + g * record_bytes_;
    for (int64_t k = 0; k < group; ++k) {
      const int8_t* codes = rows.codes.data() + g * group + k;
      if (packing_ == Packing::kCodes8) {
        for (int64_t r = 0; r < rows.num_rows; ++r) record[k * kSpan + r] = std::byte(codes[r * num_cols_]);
        continue;
      }
      std::byte* pair = record + (k / 2) * kSpan;
      for (int64_t r = 0; r < rows.num_rows; ++r) {
        const std::byte nibble{nibbles[static_cast<size_t>(codes[r * num_cols_] + 128)]};
        pair[r] = k % 2 == 0 ? nibble : pair[r] | nibble << 4;
      }
    }
    PackSpan(rows.scales.data() + g, rows.num_rows, num_groups, format_.f16_scales, record + scales_offset_);
    if (format_.has_min) {
      PackSpan(rows.mins.data() + g, rows.num_rows, num_groups, format_.f16_scales, record + mins_offset_);
    }
  }
}

ActivationNeeds PackedLinear::needs() const {
  ActivationNeeds needs;
  needs.exact = packing_ == Packing::kF32;
  needs.rounded = !needs.exact;
  needs.sums32 = format_.has_min && format_.group_size == 32;
  needs.sums16 = format_.has_min && format_.group_size == 16;
  return needs;
}

}  // namespace firebrick
