// Attention over paged KV and the writing of pages, over 16 lanes. See lanes/micro.h.
//
// A call works on row blocks: a row is (query, head of the group), rows of one block share each tile, which
// is expanded to FP32 once per block. Scratch, in floats (padded: head_dim to a multiple of 32):
//   queries [32][padded] | weights [32][256] | tile [32 * padded], panels of 16 tokens or dimensions | part
//   [32][padded] | total [32][padded] | max, sum of the total per row
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
  static constexpr int kPanels = V::kMicroPanels;  // of 16 tokens or dimensions, multiplied at once

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

  // A panel of 16 tokens of a K tile [d / 2][32][2]: pairs along d.
  template <typename Element>
  struct KeyPanel {
    const Element* at = nullptr;
    FIREBRICK_INLINE void LoadPair(int64_t pair, F& even, F& odd) const {
      LoadPairs(at + pair * kTokens * 2, even, odd);
    }
  };

  // A panel of 16 dimensions of a V tile [16][d][2]: pairs along tokens. Dimensions from head_dim on are
  // zero.
  template <typename Element>
  struct ValuePanel {
    const Element* at = nullptr;
    int64_t head_dim = 0;
    int64_t left = 0;  // dimensions from the panel's first to the last
    FIREBRICK_INLINE void LoadPair(int64_t pair, F& even, F& odd) const {
      const Element* values = at + pair * head_dim * 2;
      if (left >= 16) return LoadPairs(values, even, odd);
      alignas(64) Element pairs[32] = {};
      for (int64_t i = 0; i < 2 * left; ++i) pairs[i] = values[i];
      LoadPairs(pairs, even, odd);
    }
  };

  static FIREBRICK_INLINE void LoadPairs(const uint16_t* pairs, F& even, F& odd) {
    V::LoadBf16Pairs(pairs, even, odd);
  }
  static FIREBRICK_INLINE void LoadPairs(const float* pairs, F& even, F& odd) {
    V::LoadF32Pairs(pairs, even, odd);
  }

  // The load of PairChains that leaves what it expands in `expanded`, one after the other [positions][16].
  template <typename Panel>
  struct ExpandingLoad {
    const Panel (&panels)[kPanels];
    float* const (&expanded)[kPanels];
    int64_t first_pair;
    template <typename Index>
    FIREBRICK_INLINE void operator()(Index p, int64_t pair, F& even, F& odd) const {
      panels[p].LoadPair(first_pair + pair, even, odd);
      V::Store(expanded[p] + 2 * pair * 16, even);
      V::Store(expanded[p] + (2 * pair + 1) * 16, odd);
    }
  };

  // fn(tag of the element type of pages).
  template <typename Fn>
  static void WithElement(KvDType dtype, Fn&& fn) {
    if (dtype == KvDType::kF32) {
      fn(float{});
    } else {
      fn(uint16_t{});
    }
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
    WithElement(args.pages.dtype, [&](auto element) {
      using Element = decltype(element);
      for (int64_t token = 0; token < kTokens; token += 16 * kPanels) {
        KeyPanel<Element> panels[kPanels];
        Unroll<kPanels>([&](auto p) {
          panels[p].at = reinterpret_cast<const Element*>(key_tile) + (token + 16 * p) * 2;
        });
        ForEvenRowGroups<1, V::kMicroRows>(rows.num_rows, [&](auto count, int64_t row) {
          ScoreRows<count>(args, panels, row == 0, s.queries + row * padded, padded, s.tile,
                           s.weights + row * kPartition + column + token);
        });
      }
    });
  }

  template <int R, typename Panel>
  static void ScoreRows(const AttentionArgs& args, const Panel (&panels)[kPanels], bool expand,
                        const float* queries, int64_t padded, float* tile, float* weights) {
    const int64_t head_dim = args.pages.head_dim;
    F acc[R][kPanels];
    Unroll<R>([&](auto r) { Unroll<kPanels>([&](auto p) { acc[r][p] = V::Zero(); }); });
    for (int64_t d = 0; d < head_dim; d += 32) {
      const int64_t pairs = head_dim - d < 32 ? (head_dim - d) / 2 : 16;
      float* expanded[kPanels];
      Unroll<kPanels>([&](auto p) { expanded[p] = tile + (d * kPanels + 32 * p) * 16; });
      F dot[R][kPanels];
      if (expand) {
        PairChains<V, R, kPanels>(pairs, queries + d, padded, dot,
                                  ExpandingLoad<Panel>{panels, expanded, d / 2});
      } else {
        PairChains<V, R, kPanels>(pairs, queries + d, padded, dot, ExpandedPanels<V, kPanels>{expanded});
      }
      Unroll<R>([&](auto r) { Unroll<kPanels>([&](auto p) { acc[r][p] = V::Add(acc[r][p], dot[r][p]); }); });
    }
    const F scale = V::Set1(args.scale);
    Unroll<R>([&](auto r) {
      Unroll<kPanels>([&](auto p) { V::Store(weights + r * kPartition + 16 * p, V::Mul(acc[r][p], scale)); });
    });
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

  // part += weights times values, over blocks [first_block, last_block]; weights begin at the first one.
  static void Values(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                     int64_t first_block, int64_t last_block) {
    const KvHeadPages& pages = args.pages;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      for (int64_t d = 0; d < padded; d += 16) V::Store(s.part + r * padded + d, V::Zero());
    }
    WithElement(pages.dtype, [&](auto element) {
      using Element = decltype(element);
      for (int64_t block = first_block; block <= last_block; ++block) {
        const auto* tile = reinterpret_cast<const Element*>(pages.ValueTile(static_cast<int32_t>(block)));
        const float* weights = s.weights + (block - first_block) * kTokens;
        for (int64_t d = 0; d < pages.head_dim; d += 16 * kPanels) {
          ValuePanel<Element> panels[kPanels];
          Unroll<kPanels>([&](auto p) {
            const int64_t left = pages.head_dim - d - 16 * p;
            panels[p] = {tile + (left > 0 ? (d + 16 * p) * 2 : 0), pages.head_dim, left > 0 ? left : 0};
          });
          ForEvenRowGroups<1, V::kMicroRows>(rows.num_rows, [&](auto count, int64_t row) {
            AddValues<count>(panels, row == 0, weights + row * kPartition, s.tile, s.part + row * padded + d,
                             padded);
          });
        }
      }
    });
  }

  // part[r] += the weights of a tile's 32 tokens times their values.
  template <int R, typename Panel>
  static void AddValues(const Panel (&panels)[kPanels], bool expand, const float* weights, float* tile,
                        float* part, int64_t padded) {
    float* expanded[kPanels];
    Unroll<kPanels>([&](auto p) { expanded[p] = tile + p * kTokens * 16; });
    F dot[R][kPanels];
    if (expand) {
      PairChains<V, R, kPanels>(kTokens / 2, weights, kPartition, dot,
                                ExpandingLoad<Panel>{panels, expanded, 0});
    } else {
      PairChains<V, R, kPanels>(kTokens / 2, weights, kPartition, dot, ExpandedPanels<V, kPanels>{expanded});
    }
    Unroll<R>([&](auto r) {
      Unroll<kPanels>([&](auto p) {
        float* at = part + r * padded + 16 * p;
        V::Store(at, V::Add(V::Load(at), dot[r][p]));
      });
    });
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
