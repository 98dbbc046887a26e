// EmbeddingTable: rows of the input embedding. Kept as the file codes them, or, where the model ties it to
// its output matrix, read out of that packed matrix, so that it is held once. Thread: const after load.
#pragma once

#include <cstdint>

#include "device/aligned_buffer.h"
#include "kernels/packed_linear.h"
#include "tensor/weight_type.h"

namespace firebrick {

class EmbeddingTable {
 public:
  EmbeddingTable() = default;
  // `bytes` holds num_rows rows of num_cols values of `type`.
  EmbeddingTable(AlignedBuffer bytes, WeightType type, int64_t num_cols);
  // Rows of a packed matrix that outlives the table.
  explicit EmbeddingTable(const PackedLinear* tied);

  std::byte* bytes() { return bytes_.data(); }
  size_t resident_bytes() const { return bytes_.size(); }
  // out: [num_cols]. The same values either way.
  void ReadRow(int64_t row, float* out) const;

 private:
  AlignedBuffer bytes_;
  WeightType type_ = WeightType::kF32;
  int64_t num_cols_ = 0;
  const PackedLinear* tied_ = nullptr;
};

}  // namespace firebrick
