// y = x W^T over packed weights, for all packings, over 16 lanes. See lanes/micro.h.
//
// Two paths, the same order: few rows decode the weights in registers as they stream by; many rows expand a
// span of columns of a panel to FP32 in the first-level cache and use it for all rows.
#pragma once

#include <type_traits>

#include "kernels/lanes/micro.h"
#include "kernels/ops.h"

namespace firebrick::lanes {

inline constexpr int64_t kOutputs = kPanelOutputs;

// A source reads one panel: LoadPair(block, j) gives columns 2j and 2j + 1 of a block, Flush adds a block's
// dot to the accumulator. kBlock: columns of a block. Plain: F32, BF16. Split: F16 with low parts. Grouped:
// integer codes.
template <typename V>
struct F32Source {
  using F = typename V::F;
  static constexpr int64_t kBlock = 32;
  static constexpr bool kGrouped = false;
  static constexpr bool kHasMin = false;
  static constexpr bool kSplit = false;
  static constexpr bool kExact = true;  // reads the activations unrounded
  const float* w = nullptr;
  F32Source() = default;
  F32Source(const PackedLinear& weights, int64_t panel)
      : w(reinterpret_cast<const float*>(weights.panel(panel))) {}
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    const float* at = w + (block * kBlock + 2 * j) * kOutputs;
    even = V::Load(at);
    odd = V::Load(at + kOutputs);
  }
};

template <typename V>
struct Bf16Source {
  using F = typename V::F;
  static constexpr int64_t kBlock = 32;
  static constexpr bool kGrouped = false;
  static constexpr bool kHasMin = false;
  static constexpr bool kSplit = false;
  static constexpr bool kExact = false;
  const uint16_t* w = nullptr;
  Bf16Source() = default;
  Bf16Source(const PackedLinear& weights, int64_t panel)
      : w(reinterpret_cast<const uint16_t*>(weights.panel(panel))) {}
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    V::LoadBf16Pairs(w + (block * kBlock + 2 * j) * kOutputs, even, odd);
  }
};

template <typename V, bool kWithLowParts>
struct F16Source {
  using F = typename V::F;
  static constexpr int64_t kBlock = 32;
  static constexpr bool kGrouped = false;
  static constexpr bool kHasMin = false;
  static constexpr bool kSplit = kWithLowParts;
  static constexpr bool kExact = false;
  const uint16_t* w = nullptr;
  F16Source() = default;
  F16Source(const PackedLinear& weights, int64_t panel)
      : w(reinterpret_cast<const uint16_t*>(weights.panel(panel))) {}
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    const uint16_t* at = w + (block * kBlock + 2 * j) * kOutputs;
    even = V::LoadF16(at);
    odd = V::LoadF16(at + kOutputs);
  }
};

template <typename V, int kBits, int64_t kGroup, bool kMin>
struct CodesSource {
  using F = typename V::F;
  static constexpr int64_t kBlock = kGroup;
  static constexpr bool kGrouped = true;
  static constexpr bool kHasMin = kMin;
  static constexpr bool kSplit = false;
  static constexpr bool kExact = false;
  const std::byte* records = nullptr;
  int64_t record_bytes = 0;
  int64_t scales_offset = 0;
  int64_t mins_offset = 0;
  bool f16_scales = false;
  typename V::CodeTable table;
  CodesSource() = default;
  CodesSource(const PackedLinear& weights, int64_t panel)
      : records(weights.panel(panel)),
        record_bytes(weights.record_bytes()),
        scales_offset(weights.scales_offset()),
        mins_offset(weights.mins_offset()),
        f16_scales(weights.format().f16_scales) {
    if constexpr (kBits == 4) table = V::LoadCodeTable(weights.format().code_table);
  }
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    const std::byte* record = records + block * record_bytes;
    if constexpr (kBits == 4) {
      V::LoadNibblePairs(reinterpret_cast<const uint8_t*>(record + j * kOutputs), table, even, odd);
    } else {
      const auto* codes = reinterpret_cast<const int8_t*>(record + 2 * j * kOutputs);
      even = V::LoadInt8(codes);
      odd = V::LoadInt8(codes + kOutputs);
    }
  }
  FIREBRICK_INLINE F LoadSpanValues(const std::byte* at) const {
    return f16_scales ? V::LoadF16(reinterpret_cast<const uint16_t*>(at))
                      : V::Load(reinterpret_cast<const float*>(at));
  }
  FIREBRICK_INLINE F Scales(int64_t block) const {
    return LoadSpanValues(records + block * record_bytes + scales_offset);
  }
  FIREBRICK_INLINE F Mins(int64_t block) const {
    return LoadSpanValues(records + block * record_bytes + mins_offset);
  }
};

// Activations of a call: row r at rows + r * stride; group sums alike.
struct ActivationRows {
  const float* values = nullptr;
  int64_t stride = 0;
  const float* sums = nullptr;
  int64_t sums_stride = 0;
};

template <typename Source>
ActivationRows RowsFor(const Activation& x, int64_t first_row) {
  ActivationRows rows;
  rows.values = Source::kExact ? x.exact(first_row) : x.rounded(first_row);
  rows.stride = x.padded_cols();
  if constexpr (Source::kHasMin) {
    rows.sums = x.sums(first_row, Source::kBlock);
    rows.sums_stride = x.padded_cols() / Source::kBlock;
  }
  return rows;
}

// y[output...] = acc + bias for the outputs of a panel that exist.
template <typename V>
FIREBRICK_INLINE void StoreOutputs(const PackedLinear& weights, int64_t panel, const float* bias,
                                   float* y_row, typename V::F acc) {
  const int64_t first = panel * kOutputs;
  const int64_t left = weights.num_outputs() - first;
  if (left >= kOutputs) {
    V::Store(y_row + first, V::Add(acc, bias != nullptr ? V::Load(bias + first) : V::Zero()));
  } else {
    const auto b = bias != nullptr ? LoadSpan<V>(bias + first, left) : V::Zero();
    StoreSpan<V>(y_row + first, left, V::Add(acc, b));
  }
}

// R rows against P panels, weights decoded in registers.
template <typename V, typename Source, int R, int P>
void FewRows(const PackedLinear& weights, const ActivationRows& x, int64_t first_panel, const float* bias,
             float* y, int64_t ldy) {
  using F = typename V::F;
  Source sources[P];
  Unroll<P>([&](auto p) { sources[p] = Source(weights, first_panel + p); });
  F acc[R][P];
  Unroll<R>([&](auto r) { Unroll<P>([&](auto p) { acc[r][p] = V::Zero(); }); });
  const int64_t num_blocks = weights.padded_cols() / Source::kBlock;
  for (int64_t block = 0; block < num_blocks; ++block) {
    const float* x_block = x.values + block * Source::kBlock;
    F even[R][P];
    F odd[R][P];
    F low_even[R][P];
    F low_odd[R][P];
    Unroll<R>([&](auto r) __attribute__((always_inline)) {
      Unroll<P>([&](auto p) __attribute__((always_inline)) {
        even[r][p] = odd[r][p] = V::Zero();
        if constexpr (Source::kSplit) low_even[r][p] = low_odd[r][p] = V::Zero();
      });
    });
#pragma GCC unroll 2
    for (int64_t j = 0; j < Source::kBlock / 2; ++j) {
      Unroll<P>([&](auto p) __attribute__((always_inline)) {
        F w_even;
        F w_odd;
        sources[p].LoadPair(block, j, w_even, w_odd);
        F high_even = w_even;
        F high_odd = w_odd;
        if constexpr (Source::kSplit) {
          high_even = V::HighPart(w_even);
          high_odd = V::HighPart(w_odd);
        }
        Unroll<R>([&](auto r) __attribute__((always_inline)) {
          const F x_even = V::Set1(x_block[r * x.stride + 2 * j]);
          const F x_odd = V::Set1(x_block[r * x.stride + 2 * j + 1]);
          even[r][p] = V::Fma(high_even, x_even, even[r][p]);
          odd[r][p] = V::Fma(high_odd, x_odd, odd[r][p]);
          if constexpr (Source::kSplit) {
            low_even[r][p] = V::Fma(V::Sub(w_even, high_even), x_even, low_even[r][p]);
            low_odd[r][p] = V::Fma(V::Sub(w_odd, high_odd), x_odd, low_odd[r][p]);
          }
        });
      });
    }
    Unroll<P>([&](auto p) __attribute__((always_inline)) {
      Unroll<R>([&](auto r) __attribute__((always_inline)) {
        const F dot = V::Add(even[r][p], odd[r][p]);
        if constexpr (Source::kGrouped) {
          acc[r][p] = V::Fma(dot, sources[p].Scales(block), acc[r][p]);
          if constexpr (Source::kHasMin) {
            const F sum = V::Set1(x.sums[r * x.sums_stride + block]);
            acc[r][p] = V::Fma(sum, sources[p].Mins(block), acc[r][p]);
          }
        } else {
          acc[r][p] = V::Add(acc[r][p], dot);
          if constexpr (Source::kSplit) {
            acc[r][p] = V::Add(acc[r][p], V::Add(low_even[r][p], low_odd[r][p]));
          }
        }
      });
    });
  }
  Unroll<R>([&](auto r) {
    Unroll<P>([&](auto p) { StoreOutputs<V>(weights, first_panel + p, bias, y + r * ldy, acc[r][p]); });
  });
}

// Columns that are expanded at once, rows that use them, panels that share the rows while they are in cache.
inline constexpr int64_t kExpandCols = 256;
inline constexpr int64_t kRowTile = 128;
inline constexpr int64_t kPanelTile = 8;
inline constexpr int64_t kStreamingRows = 32;

// A span of columns of one panel as FP32: values [cols][16]; low parts alike; scales and mins [groups][16].
struct ExpandedSpan {
  alignas(64) float values[kExpandCols * kOutputs];
  alignas(64) float low[kExpandCols * kOutputs];
  alignas(64) float scales[kExpandCols / 16 * kOutputs];
  alignas(64) float mins[kExpandCols / 16 * kOutputs];
};

// Weights that are wanted next, fetched to the second-level cache while the multiplications of a span go on:
// few rows would otherwise wait for memory while they decode, and leave it idle while they multiply.
template <int P>
struct Prefetch {
  const std::byte* at[P] = {};
  int64_t lines_per_block = 0;  // of each panel
  FIREBRICK_INLINE void Block(int64_t block) const {
    constexpr int64_t kLine = 64;
    for (int64_t line = block * lines_per_block; line < (block + 1) * lines_per_block; ++line) {
      Unroll<P>([&](auto p)
                    __attribute__((always_inline)) { __builtin_prefetch(at[p] + line * kLine, 0, 2); });
    }
  }
};

// The load of PairChains that decodes a block of weights and leaves it in the spans for the rows that follow:
// the multiplications of the first rows hide the decoding.
template <typename V, typename Source, int P>
struct DecodingLoad {
  using F = typename V::F;
  const Source (&sources)[P];
  int64_t block;  // of the source
  ExpandedSpan* const (&spans)[P];
  int64_t first;  // where the block begins in a span
  template <typename Index>
  FIREBRICK_INLINE void operator()(Index p, int64_t pair, F& even, F& odd) const {
    const int64_t at = first + 2 * pair * kOutputs;
    sources[p].LoadPair(block, pair, even, odd);
    if constexpr (Source::kSplit) {
      const F high_even = V::HighPart(even);
      const F high_odd = V::HighPart(odd);
      V::Store(spans[p]->low + at, V::Sub(even, high_even));
      V::Store(spans[p]->low + at + kOutputs, V::Sub(odd, high_odd));
      even = high_even;
      odd = high_odd;
    }
    V::Store(spans[p]->values + at, even);
    V::Store(spans[p]->values + at + kOutputs, odd);
  }
};

// acc[p][r] += the blocks of a span, for R rows and P panels. rows: at the span's first column and first
// group.
template <typename V, typename Source, int R, int P, bool kDecode>
void AddSpan(const Source (&sources)[P], int64_t source_block, ExpandedSpan* const (&spans)[P],
             int64_t num_blocks, const ActivationRows& rows, const Prefetch<P>& next,
             float* const (&acc)[P]) {
  using F = typename V::F;
  constexpr int64_t kBlock = Source::kBlock;
  for (int64_t b = 0; b < num_blocks; ++b) {
    next.Block(b);
    const float* x = rows.values + b * kBlock;
    const int64_t first = b * kBlock * kOutputs;
    F dot[R][P];
    if constexpr (kDecode) {
      if constexpr (Source::kGrouped) {
        Unroll<P>([&](auto p) __attribute__((always_inline)) {
          V::Store(spans[p]->scales + b * kOutputs, sources[p].Scales(source_block + b));
          if constexpr (Source::kHasMin)
            V::Store(spans[p]->mins + b * kOutputs, sources[p].Mins(source_block + b));
        });
      }
      PairChains<V, R, P>(kBlock / 2, x, rows.stride, dot,
                          DecodingLoad<V, Source, P>{sources, source_block + b, spans, first});
    } else {
      float* values[P];
      Unroll<P>([&](auto p) __attribute__((always_inline)) { values[p] = spans[p]->values + first; });
      PairChains<V, R, P>(kBlock / 2, x, rows.stride, dot, ExpandedPanels<V, P>{values});
    }
    Unroll<R>([&](auto r) __attribute__((always_inline)) {
      Unroll<P>([&](auto p) __attribute__((always_inline)) {
        F total = V::Load(acc[p] + r * kOutputs);
        if constexpr (Source::kGrouped) {
          total = V::Fma(dot[r][p], V::Load(spans[p]->scales + b * kOutputs), total);
          if constexpr (Source::kHasMin) {
            const F sum = V::Set1(rows.sums[r * rows.sums_stride + b]);
            total = V::Fma(sum, V::Load(spans[p]->mins + b * kOutputs), total);
          }
        } else {
          total = V::Add(total, dot[r][p]);
        }
        V::Store(acc[p] + r * kOutputs, total);
      });
    });
    if constexpr (Source::kSplit) {
      float* lows[P];
      Unroll<P>([&](auto p) __attribute__((always_inline)) { lows[p] = spans[p]->low + first; });
      PairChains<V, R, P>(kBlock / 2, x, rows.stride, dot, ExpandedPanels<V, P>{lows});
      Unroll<R>([&](auto r) __attribute__((always_inline)) {
        Unroll<P>([&](auto p) __attribute__((always_inline)) {
          float* at = acc[p] + r * kOutputs;
          V::Store(at, V::Add(V::Load(at), dot[r][p]));
        });
      });
    }
  }
}

// Sums of a tile of rows and panels while the columns pass, and the expanded weights of one micro tile.
template <int P>
struct TileScratch {
  // One panel more than a tile has: the last micro tile of an odd number of panels computes one for nobody.
  alignas(64) float acc[kPanelTile + P - 1][kRowTile * kOutputs];
  ExpandedSpan spans[P];
};

// num_rows <= kRowTile rows against the panels of a tile, at most kPanelTile. last_panel: to be fetched
// ahead, at most.
template <typename V, typename Source>
void ManyRows(const PackedLinear& weights, const ActivationRows& x, int64_t num_rows, IndexRange tile,
              int64_t last_panel, const float* bias, float* y, int64_t ldy) {
  constexpr int kPanels = V::kMicroPanels;
  constexpr int64_t kBlock = Source::kBlock;
  constexpr int64_t kBlocksAtOnce = kExpandCols / kBlock;
  TileScratch<kPanels> scratch;
  for (int64_t p = 0; p < tile.size() + kPanels - 1; ++p) {
    for (int64_t r = 0; r < num_rows; ++r) V::Store(scratch.acc[p] + r * kOutputs, V::Zero());
  }
  const int64_t num_blocks = weights.padded_cols() / kBlock;
  const int64_t block_bytes = weights.panel_bytes() / num_blocks;
  const int64_t num_groups = (num_rows + V::kMicroRows - 1) / V::kMicroRows;
  const auto block_at = [&](int64_t panel, int64_t block) {
    return weights.panel(panel < last_panel ? panel : last_panel) + block * block_bytes;
  };
  for (int64_t first = 0; first < num_blocks; first += kBlocksAtOnce) {
    const int64_t blocks = num_blocks - first < kBlocksAtOnce ? num_blocks - first : kBlocksAtOnce;
    for (int64_t panel = tile.begin; panel < tile.end; panel += kPanels) {
      Source sources[kPanels];
      ExpandedSpan* spans[kPanels];
      Prefetch<kPanels> next;
      next.lines_per_block =
          (blocks * block_bytes + 64 * num_groups * blocks - 1) / (64 * num_groups * blocks);
      Unroll<kPanels>([&](auto p) {
        // Behind the last panel stands the last once more.
        sources[p] = Source(weights, panel + p < tile.end ? panel + p : tile.end - 1);
        spans[p] = &scratch.spans[p];
        next.at[p] = panel + kPanels < tile.end    ? block_at(panel + kPanels + p, first)
                     : first + blocks < num_blocks ? block_at(tile.begin + p, first + blocks)
                                                   : block_at(tile.end + p, 0);
      });
      ForEvenRowGroups<(V::kMicroRows + 1) / 2, V::kMicroRows>(num_rows, [&](auto count, int64_t row) {
        ActivationRows rows{x.values + row * x.stride + first * kBlock, x.stride, nullptr, x.sums_stride};
        if constexpr (Source::kHasMin) rows.sums = x.sums + row * x.sums_stride + first;
        float* acc[kPanels];
        Unroll<kPanels>([&](auto p) { acc[p] = scratch.acc[panel - tile.begin + p] + row * kOutputs; });
        if (row == 0) {
          AddSpan<V, Source, count, kPanels, true>(sources, first, spans, blocks, rows, next, acc);
        } else {
          AddSpan<V, Source, count, kPanels, false>(sources, first, spans, blocks, rows, next, acc);
        }
        Unroll<kPanels>([&](auto p) { next.at[p] += blocks * next.lines_per_block * 64; });
      });
    }
  }
  for (int64_t p = 0; p < tile.size(); ++p) {
    for (int64_t r = 0; r < num_rows; ++r) {
      StoreOutputs<V>(weights, tile.begin + p, bias, y + r * ldy, V::Load(scratch.acc[p] + r * kOutputs));
    }
  }
}

template <typename V, typename Source>
void RunFewRows(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy) {
  const ActivationRows x_rows = RowsFor<Source>(x, rows.begin);
  float* y_rows = y + rows.begin * ldy;
  int64_t panel = panels.begin;
  if (rows.size() == 1) {
    for (; panel + V::kOneRowPanels <= panels.end; panel += V::kOneRowPanels) {
      FewRows<V, Source, 1, V::kOneRowPanels>(weights, x_rows, panel, bias, y_rows, ldy);
    }
  }
  if (!Source::kSplit && rows.size() > 1) {
    for (; panel + V::kMicroPanels <= panels.end; panel += V::kMicroPanels) {
      WithRowCount<2, V::kFewRows>(rows.size(), [&](auto count) {
        FewRows<V, Source, count, V::kMicroPanels>(weights, x_rows, panel, bias, y_rows, ldy);
      });
    }
  }
  for (; panel < panels.end; ++panel) {
    WithRowCount<1, V::kFewRows>(rows.size(), [&](auto count) {
      FewRows<V, Source, count, 1>(weights, x_rows, panel, bias, y_rows, ldy);
    });
  }
}

template <typename V, typename Source>
void RunLinear(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  if (rows.size() <= 0) return;
  if (rows.size() <= V::kFewRows) {
    RunFewRows<V, Source>(weights, x, rows, panels, bias, y, ldy);
    return;
  }
  // Tiles of nearly equal size: none is so small that its multiplications would not hide the decoding.
  const int64_t num_tiles = (rows.size() + kRowTile - 1) / kRowTile;
  for (int64_t tile = 0; tile < num_tiles; ++tile) {
    const IndexRange part = SplitRange(rows.size(), num_tiles, tile);
    const int64_t row = rows.begin + part.begin;
    const ActivationRows x_rows = RowsFor<Source>(x, row);
    // Few rows: a panel is read from end to end, as memory likes it. Many: panels share each span of
    // activations.
    const int64_t panels_at_once = part.size() <= kStreamingRows ? V::kMicroPanels : kPanelTile;
    for (int64_t panel = panels.begin; panel < panels.end; panel += panels_at_once) {
      const IndexRange own{panel, panel + panels_at_once < panels.end ? panel + panels_at_once : panels.end};
      ManyRows<V, Source>(weights, x_rows, part.size(), own, panels.end - 1, bias, y + row * ldy, ldy);
    }
  }
}

// The functions of Ops::linear.
template <typename V>
struct LinearKernels {
  static void F32(const PackedLinear& w, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
    RunLinear<V, F32Source<V>>(w, x, rows, panels, bias, y, ldy);
  }
  static void Bf16(const PackedLinear& w, const Activation& x, IndexRange rows, IndexRange panels,
                   const float* bias, float* y, int64_t ldy) {
    RunLinear<V, Bf16Source<V>>(w, x, rows, panels, bias, y, ldy);
  }
  static void F16(const PackedLinear& w, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
    bool low_parts = false;
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) low_parts |= w.HasLowParts(panel);
    if (low_parts) {
      RunLinear<V, F16Source<V, true>>(w, x, rows, panels, bias, y, ldy);
    } else {
      RunLinear<V, F16Source<V, false>>(w, x, rows, panels, bias, y, ldy);
    }
  }
  template <int kBits>
  static void Codes(const PackedLinear& w, const Activation& x, IndexRange rows, IndexRange panels,
                    const float* bias, float* y, int64_t ldy) {
    const bool min = w.format().has_min;
    if (w.format().group_size == 32) {
      (min ? RunLinear<V, CodesSource<V, kBits, 32, true>>
           : RunLinear<V, CodesSource<V, kBits, 32, false>>)(w, x, rows, panels, bias, y, ldy);
    } else {
      (min ? RunLinear<V, CodesSource<V, kBits, 16, true>>
           : RunLinear<V, CodesSource<V, kBits, 16, false>>)(w, x, rows, panels, bias, y, ldy);
    }
  }
};

}  // namespace firebrick::lanes
