// Attention over paged KV and the writing of pages, over 16 lanes. See lanes/micro.h.
//
// A call works on row blocks: a row is (query, head of the group), rows of one block share each tile, which
// is expanded to FP32 once per block. Scratch, in floats (padded: head_dim to a multiple of 32):
//   queries [32][padded] | weights [32][256] | tile [32 * padded] | part [32][padded] | total [32][padded] |
//   max, sum of the total per row
#pragma once

#include "kernels/attention.h"
#include "kernels/lanes/micro.h"
#include "tensor/float_bits.h"

namespace firebrick::lanes {

// Tiles: the two matrix products and the form of their left operands; this struct's own (FMA) unless a level
// brings another. Its LoadQueries, Scores and Values are called as those below.
template <typename V>
struct AttentionKernel {
  using F = typename V::F;
  static constexpr int64_t kTokens = kBlockTokens;
  static constexpr int64_t kPartition = kPartitionTokens;

  struct Scratch {
    float* queries;
    float* weights;
    float* tile;
    float* part;
    float* total;
    float* max;
    float* sum;
  };

  // The rows of a block. Row r is query first_query + (first_row + r) / heads, head (first_row + r) % heads.
  struct RowBlock {
    int64_t first_row;
    int64_t num_rows;
    int64_t heads;
    int64_t first_position;  // of query 0
    int64_t window;
    int64_t Query(int64_t r) const { return (first_row + r) / heads; }
    int64_t Head(int64_t r) const { return (first_row + r) % heads; }
    int64_t Position(int64_t r) const { return first_position + Query(r); }
    int64_t Lowest(int64_t r) const {
      const int64_t lowest = Position(r) - window + 1;
      return window > 0 && lowest > 0 ? lowest : 0;
    }
  };

  static Scratch Cut(float* scratch, int64_t padded) {
    Scratch s;
    s.queries = scratch;
    s.weights = s.queries + kAttentionRows * padded;
    s.tile = s.weights + kAttentionRows * kPartition;
    s.part = s.tile + kTokens * padded;
    s.total = s.part + kAttentionRows * padded;
    s.max = s.total + kAttentionRows * padded;
    s.sum = s.max + kAttentionRows;
    return s;
  }

  // K tile [d / 2][32][2] to FP32 rows [d][32].
  static void ExpandKeys(const std::byte* tile, KvDType dtype, int64_t head_dim, float* out) {
    for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
      for (int64_t token = 0; token < kTokens; token += 16) {
        F even;
        F odd;
        LoadPairs(tile, dtype, (pair * kTokens + token) * 2, even, odd);
        V::Store(out + 2 * pair * kTokens + token, even);
        V::Store(out + (2 * pair + 1) * kTokens + token, odd);
      }
    }
  }

  // V tile [16][d][2] to FP32 rows [32][padded]; columns from head_dim to the next 16 are zero.
  static void ExpandValues(const std::byte* tile, KvDType dtype, int64_t head_dim, int64_t padded,
                           float* out) {
    for (int64_t pair = 0; pair < kTokens / 2; ++pair) {
      float* even_row = out + 2 * pair * padded;
      float* odd_row = even_row + padded;
      int64_t d = 0;
      for (; d + 16 <= head_dim; d += 16) {
        F even;
        F odd;
        LoadPairs(tile, dtype, (pair * head_dim + d) * 2, even, odd);
        V::Store(even_row + d, even);
        V::Store(odd_row + d, odd);
      }
      for (const int64_t end = (head_dim + 15) / 16 * 16; d < end; ++d) {
        even_row[d] = d < head_dim ? LoadOne(tile, dtype, (pair * head_dim + d) * 2) : 0.0F;
        odd_row[d] = d < head_dim ? LoadOne(tile, dtype, (pair * head_dim + d) * 2 + 1) : 0.0F;
      }
    }
  }

  static void LoadPairs(const std::byte* tile, KvDType dtype, int64_t index, F& even, F& odd) {
    if (dtype == KvDType::kBF16) {
      V::LoadBf16Pairs(reinterpret_cast<const uint16_t*>(tile) + index, even, odd);
    } else {
      V::LoadF32Pairs(reinterpret_cast<const float*>(tile) + index, even, odd);
    }
  }

  static float LoadOne(const std::byte* tile, KvDType dtype, int64_t index) {
    if (dtype == KvDType::kF32) return reinterpret_cast<const float*>(tile)[index];
    const uint32_t bits = static_cast<uint32_t>(reinterpret_cast<const uint16_t*>(tile)[index]) << 16;
    return __builtin_bit_cast(float, bits);
  }

  static F RoundAs(KvDType dtype, F value) { return dtype == KvDType::kF32 ? value : V::RoundToBf16(value); }

  static void LoadQueries(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s) {
    const int64_t head_dim = args.pages.head_dim;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const float* query = args.queries + rows.Query(r) * args.query_stride + rows.Head(r) * head_dim;
      ForSpans(head_dim, [&](int64_t d, auto count) {
        StoreSpan<V>(s.queries + r * padded + d, count,
                     RoundAs(args.pages.dtype, LoadSpan<V>(query + d, count)));
      });
    }
  }

  // Scores of all rows against the 32 keys of a tile, to weights[r][column...].
  static void Scores(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                     const std::byte* key_tile, int64_t column) {
    ExpandKeys(key_tile, args.pages.dtype, args.pages.head_dim, s.tile);
    const int64_t head_dim = args.pages.head_dim;
    const F scale = V::Set1(args.scale);
    for (int64_t token = 0; token < kTokens; token += 16) {
      ForRowGroups<V::kMicroRows>(rows.num_rows, [&](auto count, int64_t row) {
        constexpr int kRows = decltype(count)::value;
        F acc[kRows];
        Unroll<kRows>([&](auto r) { acc[r] = V::Zero(); });
        for (int64_t d = 0; d < head_dim; d += 32) {
          const int64_t pairs = head_dim - d < 32 ? (head_dim - d) / 2 : 16;
          F dot[kRows];
          PairChains<V, kRows>(s.tile + d * kTokens + token, kTokens, pairs, s.queries + row * padded + d,
                               padded, dot);
          Unroll<kRows>([&](auto r) { acc[r] = V::Add(acc[r], dot[r]); });
        }
        Unroll<kRows>([&](auto r) {
          V::Store(s.weights + (row + r) * kPartition + column + token, V::Mul(acc[r], scale));
        });
      });
    }
  }

  // Scores [begin, end) of a row's partition become weights, the others of [0, columns) zero. Returns their
  // sum.
  static float SoftmaxRow(KvDType dtype, int64_t begin, int64_t end, int64_t columns, float* weights,
                          float* max) {
    const F lowest = V::Set1(-__builtin_inff());
    F greatest = lowest;
    for (int64_t c = 0; c < columns; c += 16) {
      greatest = V::Max(greatest, V::KeepLanes(V::Load(weights + c), static_cast<int>(begin - c),
                                               static_cast<int>(end - c), lowest));
    }
    alignas(64) float lanes[16];
    V::Store(lanes, greatest);
    *max = lanes[0];
    for (const float lane : lanes) *max = *max > lane ? *max : lane;
    F sum = V::Zero();
    for (int64_t c = 0; c < columns; c += 16) {
      const F e = RoundAs(dtype, Exp<V>(V::Sub(V::Load(weights + c), V::Set1(*max))));
      const F weight = V::KeepLanes(e, static_cast<int>(begin - c), static_cast<int>(end - c), V::Zero());
      sum = V::Add(sum, weight);
      V::Store(weights + c, weight);
    }
    return SumOfLanes<V>(sum);
  }

  // part[r] += weights of the tile's 32 tokens times their values.
  static void AddValues(const RowBlock& rows, int64_t head_dim, int64_t padded, const Scratch& s,
                        int64_t column) {
    for (int64_t d = 0; d < head_dim; d += 16) {
      ForRowGroups<V::kMicroRows>(rows.num_rows, [&](auto count, int64_t row) {
        constexpr int kRows = decltype(count)::value;
        F dot[kRows];
        PairChains<V, kRows>(s.tile + d, padded, kTokens / 2, s.weights + row * kPartition + column,
                             kPartition, dot);
        Unroll<kRows>([&](auto r) {
          float* part = s.part + (row + r) * padded + d;
          V::Store(part, V::Add(V::Load(part), dot[r]));
        });
      });
    }
  }

  // part += weights times values, over blocks [first_block, last_block]; weights begin at the first one.
  static void Values(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                     int64_t first_block, int64_t last_block) {
    const KvHeadPages& pages = args.pages;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      for (int64_t d = 0; d < padded; d += 16) V::Store(s.part + r * padded + d, V::Zero());
    }
    for (int64_t block = first_block; block <= last_block; ++block) {
      ExpandValues(pages.ValueTile(static_cast<int32_t>(block)), pages.dtype, pages.head_dim, padded, s.tile);
      AddValues(rows, pages.head_dim, padded, s, (block - first_block) * kTokens);
    }
  }

  static void Merge(int64_t row, int64_t head_dim, int64_t padded, const Scratch& s, float max, float sum,
                    bool first) {
    float* total = s.total + row * padded;
    const float* part = s.part + row * padded;
    if (first) {
      s.max[row] = max;
      s.sum[row] = sum;
      for (int64_t d = 0; d < head_dim; d += 16) V::Store(total + d, V::Load(part + d));
      return;
    }
    const float greatest = s.max[row] > max ? s.max[row] : max;
    const F keep = Exp<V>(V::Set1(s.max[row] - greatest));
    const F take = Exp<V>(V::Set1(max - greatest));
    alignas(64) float lanes[16];
    V::Store(lanes, V::Fma(V::Set1(s.sum[row]), keep, V::Mul(V::Set1(sum), take)));
    s.max[row] = greatest;
    s.sum[row] = lanes[0];
    for (int64_t d = 0; d < head_dim; d += 16) {
      V::Store(total + d, V::Fma(V::Load(total + d), keep, V::Mul(V::Load(part + d), take)));
    }
  }

  // All of one partition: keys [begin, begin + 256) that some row sees, blocks [first_block, last_block].
  template <typename Tiles>
  static void RunPartition(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                           int64_t begin, int64_t first_block, int64_t last_block) {
    const KvHeadPages& pages = args.pages;
    const int64_t first_key = first_block * kTokens;
    for (int64_t block = first_block; block <= last_block; ++block) {
      Tiles::Scores(args, rows, padded, s, pages.KeyTile(static_cast<int32_t>(block)),
                    (block - first_block) * kTokens);
    }
    const int64_t columns = (last_block - first_block + 1) * kTokens;
    float max[kAttentionRows];
    float sum[kAttentionRows];
    bool visible[kAttentionRows];
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const int64_t from = rows.Lowest(r) - first_key;
      const int64_t to = rows.Position(r) + 1 - first_key;
      visible[r] = to > 0 && from < columns;
      float* weights = s.weights + r * kPartition;
      if (visible[r]) {
        sum[r] = SoftmaxRow(pages.dtype, from, to, columns, weights, &max[r]);
      } else {
        for (int64_t c = 0; c < columns; c += 16) V::Store(weights + c, V::Zero());
      }
    }
    Tiles::Values(args, rows, padded, s, first_block, last_block);
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      if (visible[r]) Merge(r, pages.head_dim, padded, s, max[r], sum[r], rows.Lowest(r) >= begin);
    }
  }

  template <typename Tiles>
  static void RunRows(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s) {
    Tiles::LoadQueries(args, rows, padded, s);
    const int64_t lowest = rows.Lowest(0);
    const int64_t highest = rows.Position(rows.num_rows - 1);
    for (int64_t begin = lowest / kPartition * kPartition; begin <= highest; begin += kPartition) {
      const int64_t first = begin > lowest ? begin : lowest;
      const int64_t last = highest < begin + kPartition - 1 ? highest : begin + kPartition - 1;
      RunPartition<Tiles>(args, rows, padded, s, begin, first / kTokens, last / kTokens);
    }
    const int64_t head_dim = args.pages.head_dim;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      float* out = args.outputs + rows.Query(r) * args.output_stride + rows.Head(r) * head_dim;
      const F inverse = V::Set1(1.0F / s.sum[r]);
      ForSpans(head_dim, [&](int64_t d, auto count) {
        const F value = V::Mul(V::Load(s.total + r * padded + d), inverse);
        StoreSpan<V>(out + d, count, V::Add(value, V::Zero()));
      });
    }
  }

  template <typename Tiles>
  static void Run(const AttentionArgs& args, IndexRange queries, float* scratch) {
    const int64_t padded = (args.pages.head_dim + 31) / 32 * 32;
    const Scratch s = Cut(scratch, padded);
    const int64_t heads = args.heads_per_kv;
    for (int64_t row = queries.begin * heads; row < queries.end * heads; row += kAttentionRows) {
      const int64_t left = queries.end * heads - row;
      RunRows<Tiles>(
          args, {row, left < kAttentionRows ? left : kAttentionRows, heads, args.first_position, args.window},
          padded, s);
    }
  }

  static void Attention(const AttentionArgs& args, IndexRange queries, float* scratch) {
    Run<AttentionKernel>(args, queries, scratch);
  }

  template <typename Element>
  static Element Convert(float value) {
    if constexpr (sizeof(Element) == 4) {
      return value;
    } else {
      const uint32_t bits = __builtin_bit_cast(uint32_t, value);
      if ((bits & 0x7FFFFFFF) > 0x7F800000) return static_cast<uint16_t>(bits >> 16 | 0x0040);
      return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
    }
  }

  template <typename Element>
  static void WriteAs(const KvWriteArgs& args) {
    const int64_t head_dim = args.pages.head_dim;
    for (int64_t i = 0; i < args.num_tokens; ++i) {
      const int32_t position = args.first_position + static_cast<int32_t>(i);
      const int64_t token = position % kTokens;
      const float* key = args.keys + i * args.key_stride;
      const float* value = args.values + i * args.value_stride;
      auto* key_tile = reinterpret_cast<Element*>(args.pages.KeyTile(position / kBlockTokens)) + token * 2;
      auto* value_tile = reinterpret_cast<Element*>(args.pages.ValueTile(position / kBlockTokens)) +
                         token / 2 * head_dim * 2 + token % 2;
      for (int64_t d = 0; d < head_dim; d += 2) {
        key_tile[d * kTokens] = Convert<Element>(key[d]);
        key_tile[d * kTokens + 1] = Convert<Element>(key[d + 1]);
      }
      for (int64_t d = 0; d < head_dim; ++d) value_tile[d * 2] = Convert<Element>(value[d]);
    }
  }

  static void KvWrite(const KvWriteArgs& args) {
    if (args.pages.dtype == KvDType::kF32) {
      WriteAs<float>(args);
    } else {
      WriteAs<uint16_t>(args);
    }
  }
};

}  // namespace firebrick::lanes
