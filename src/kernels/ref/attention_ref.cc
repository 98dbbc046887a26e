#include <algorithm>

#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {
namespace {

// Element [pair][column][half] of a tile whose rows hold `columns` pairs.
float LoadTile(const std::byte* tile, KvDType dtype, int64_t index) {
  if (dtype == KvDType::kF32) return reinterpret_cast<const float*>(tile)[index];
  return Bf16ToF32(reinterpret_cast<const uint16_t*>(tile)[index]);
}

void StoreTile(std::byte* tile, KvDType dtype, int64_t index, float value) {
  if (dtype == KvDType::kF32) {
    reinterpret_cast<float*>(tile)[index] = value;
  } else {
    reinterpret_cast<uint16_t*>(tile)[index] = F32ToBf16(value);
  }
}

int64_t KeyIndex(int64_t d, int64_t token) { return (d / 2 * kBlockTokens + token) * 2 + d % 2; }
int64_t ValueIndex(int64_t d, int64_t token, int64_t head_dim) {
  return (token / 2 * head_dim + d) * 2 + token % 2;
}

float RoundAs(KvDType dtype, float value) { return dtype == KvDType::kF32 ? value : RoundToBf16(value); }

// What one partition says: the greatest score, the sum of the weights and the weighted values.
struct PartitionResult {
  float max = 0.0F;
  float sum = 0.0F;
  std::array<float, 512> values{};
};

float Score(const AttentionArgs& args, const float* query, int32_t position) {
  const KvHeadPages& pages = args.pages;
  const std::byte* tile = pages.KeyTile(position / kBlockTokens);
  float acc = 0.0F;
  for (int32_t begin = 0; begin < pages.head_dim; begin += 32) {
    const int32_t size = std::min(32, pages.head_dim - begin);
    acc = acc + PairChain(
                    size, [&](int64_t i) { return RoundAs(pages.dtype, query[begin + i]); },
                    [&](int64_t i) {
                      return LoadTile(tile, pages.dtype, KeyIndex(begin + i, position % kBlockTokens));
                    });
  }
  return acc * args.scale;
}

// Positions [first, last] of one partition.
PartitionResult RunPartition(const AttentionArgs& args, const float* query, int32_t first, int32_t last) {
  const KvHeadPages& pages = args.pages;
  const int32_t begin = first / kPartitionTokens * kPartitionTokens;
  PartitionResult result;
  std::array<float, kPartitionTokens> weights{};
  for (int32_t p = first; p <= last; ++p) weights[static_cast<size_t>(p - begin)] = Score(args, query, p);
  result.max = weights[static_cast<size_t>(first - begin)];
  for (int32_t p = first; p <= last; ++p)
    result.max = Max(result.max, weights[static_cast<size_t>(p - begin)]);
  Lanes16 lanes{};
  for (int32_t p = first; p <= last; ++p) {
    float& weight = weights[static_cast<size_t>(p - begin)];
    weight = RoundAs(pages.dtype, Exp(weight - result.max));
    lanes[static_cast<size_t>(p % 16)] += weight;
  }
  result.sum = SumOfLanes(lanes);
  for (int32_t block = first / kBlockTokens; block <= last / kBlockTokens; ++block) {
    const std::byte* tile = pages.ValueTile(block);
    const float* block_weights = weights.data() + (block * kBlockTokens - begin);
    for (int32_t d = 0; d < pages.head_dim; ++d) {
      float& acc = result.values[static_cast<size_t>(d)];
      acc =
          acc + PairChain(
                    kBlockTokens, [&](int64_t i) { return block_weights[i]; },
                    [&](int64_t i) { return LoadTile(tile, pages.dtype, ValueIndex(d, i, pages.head_dim)); });
    }
  }
  return result;
}

void Merge(const PartitionResult& next, int32_t head_dim, PartitionResult* total) {
  const float max = Max(total->max, next.max);
  const float keep = Exp(total->max - max);
  const float take = Exp(next.max - max);
  total->max = max;
  total->sum = std::fma(total->sum, keep, next.sum * take);
  for (size_t d = 0; d < static_cast<size_t>(head_dim); ++d) {
    total->values[d] = std::fma(total->values[d], keep, next.values[d] * take);
  }
}

void AttendOne(const AttentionArgs& args, int32_t position, const float* query, float* output) {
  const int32_t head_dim = args.pages.head_dim;
  const int32_t lowest = args.window > 0 ? std::max(0, position - args.window + 1) : 0;
  PartitionResult total;
  for (int32_t first = lowest; first <= position;) {
    const int32_t end = (first / kPartitionTokens + 1) * kPartitionTokens;
    const PartitionResult part = RunPartition(args, query, first, std::min(position, end - 1));
    if (first == lowest) {
      total = part;
    } else {
      Merge(part, head_dim, &total);
    }
    first = end;
  }
  const float inverse = 1.0F / total.sum;
  for (int32_t d = 0; d < head_dim; ++d) output[d] = total.values[static_cast<size_t>(d)] * inverse + 0.0F;
}

}  // namespace

void KvWrite(const KvWriteArgs& args) {
  const KvHeadPages& pages = args.pages;
  for (int32_t i = 0; i < args.num_tokens; ++i) {
    const int32_t position = args.first_position + i;
    std::byte* key_tile = pages.KeyTile(position / kBlockTokens);
    std::byte* value_tile = pages.ValueTile(position / kBlockTokens);
    for (int32_t d = 0; d < pages.head_dim; ++d) {
      const int32_t token = position % kBlockTokens;
      StoreTile(key_tile, pages.dtype, KeyIndex(d, token), args.keys[i * args.key_stride + d]);
      StoreTile(value_tile, pages.dtype, ValueIndex(d, token, pages.head_dim),
                args.values[i * args.value_stride + d]);
    }
  }
}

void Attention(const AttentionArgs& args, IndexRange queries, float* /*scratch*/) {
  const int32_t head_dim = args.pages.head_dim;
  for (int64_t i = queries.begin; i < queries.end; ++i) {
    for (int32_t head = 0; head < args.heads_per_kv; ++head) {
      AttendOne(args, args.first_position + static_cast<int32_t>(i),
                args.queries + i * args.query_stride + head * head_dim,
                args.outputs + i * args.output_stride + head * head_dim);
    }
  }
}

}  // namespace firebrick::ref
