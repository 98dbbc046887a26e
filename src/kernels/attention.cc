#include "kernels/attention.h"

namespace firebrick {

size_t AttentionScratchFloats(int32_t head_dim) {
  const auto padded = static_cast<size_t>((head_dim + 31) / 32 * 32);
  constexpr size_t kRows = kAttentionRows;
  // Queries, weights, one tile as FP32, two accumulators; and per row max, sum, factor.
  return kRows * padded + kRows * kPartitionTokens + kBlockTokens * padded + 2 * kRows * padded + 4 * kRows;
}

}  // namespace firebrick
