#include "model/layers/embedding.h"

#include <utility>

#include "weights/expand.h"

namespace firebrick {

EmbeddingTable::EmbeddingTable(AlignedBuffer bytes, WeightType type, int64_t num_cols)
    : bytes_(std::move(bytes)), type_(type), num_cols_(num_cols) {}

EmbeddingTable::EmbeddingTable(const PackedLinear* tied) : num_cols_(tied->num_cols()), tied_(tied) {}

void EmbeddingTable::ReadRow(int64_t row, float* out) const {
  if (tied_ != nullptr) {
    tied_->UnpackRow(row, out);
  } else {
    DequantizeRows(type_, bytes_.data(), num_cols_, row, 1, out);
  }
}

}  // namespace firebrick
