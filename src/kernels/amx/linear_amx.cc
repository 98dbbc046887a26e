// y = x W^T on the tile units. A tile operation covers 16 rows, 16 outputs and one block of 32 columns (one
// group of 16 or 32 for integer codes): exactly one step of the definition, so that the sums of plain formats
// stay in the tile registers over all columns, and those of grouped formats leave them once per group to be
// scaled.
#include <cstring>

#include "kernels/amx/amx.h"
#include "kernels/amx/tiles.h"
#include "kernels/avx512/intrinsics_avx512.h"

namespace firebrick::FIREBRICK_AMX_NAMESPACE {
namespace {

constexpr int64_t kOutputs = kPanelOutputs;
constexpr int64_t kTileRows = 16;
constexpr int64_t kTileBytes = 1024;
constexpr int64_t kTileFloats = kTileRows * kOutputs;
// Rows whose activations stay in the second-level cache while panels stream by.
constexpr int64_t kRowsAtOnce = 256;
constexpr int64_t kMaxSegments = kRowsAtOnce / kTileRows + 1;  // one more where the rows begin inside a tile
// Columns of BF16 weights, or of expanded ones, that stay in the first-level cache while the rows pass.
constexpr int64_t kPlainCols = 1024;
constexpr int64_t kExpandedCols = 512;
// Up to here integer codes are multiplied in vector registers: the tile units' scale flush costs as much for
// one row as for sixteen.
constexpr int64_t kFewRows = 4;

// Rows that lie in one row tile of the activations.
struct Segment {
  int64_t row;
  int64_t count;
};

struct Segments {
  Segment at[kMaxSegments];
  int64_t size = 0;
  explicit Segments(IndexRange rows) {
    for (int64_t row = rows.begin; row < rows.end;) {
      const int64_t border = (row / kTileRows + 1) * kTileRows;
      const int64_t end = border < rows.end ? border : rows.end;
      at[size++] = {row, end - row};
      row = end;
    }
  }
};

// The registers: C 0 to 3, for (segment s, panel p) number 2 s + p; A 4 and 5, one per segment; B 6 and 7,
// one per panel.
class TileShapes {
 public:
  TileShapes() = default;
  TileShapes(const TileShapes&) = delete;
  TileShapes& operator=(const TileShapes&) = delete;
  ~TileShapes() {
    if (rows0_ != 0) ReleaseTiles();
  }
  // pairs: columns of a tile operation, halved: 16 or 8.
  void Set(int64_t rows0, int64_t rows1, int64_t pairs) {
    if (rows0 == rows0_ && rows1 == rows1_ && pairs == pairs_) return;
    rows0_ = rows0;
    rows1_ = rows1;
    pairs_ = pairs;
    TileConfig config;
    for (const int tile : {0, 1}) config.Set(tile, rows0, kOutputs * 4);
    for (const int tile : {2, 3}) config.Set(tile, rows1, kOutputs * 4);
    config.Set(4, rows0, pairs * 4);
    config.Set(5, rows1, pairs * 4);
    for (const int tile : {6, 7}) config.Set(tile, pairs, kOutputs * 4);
    LoadConfig(config);
  }

 private:
  int64_t rows0_ = 0;
  int64_t rows1_ = 0;
  int64_t pairs_ = 0;
};

// y = sums + bias for the rows of a segment and the outputs of a panel that exist.
void StoreOutputs(const PackedLinear& weights, const float* sums, const Segment& segment, int64_t panel,
                  const float* bias, float* y, int64_t ldy) {
  const int64_t first = panel * kOutputs;
  const int64_t left = weights.num_outputs() - first;
  alignas(64) float last_bias[kOutputs] = {};
  __m512 add = _mm512_setzero_ps();
  if (bias != nullptr) {
    if (left < kOutputs) std::memcpy(last_bias, bias + first, static_cast<size_t>(left) * sizeof(float));
    add = _mm512_loadu_ps(left < kOutputs ? last_bias : bias + first);
  }
  for (int64_t r = 0; r < segment.count; ++r) {
    float* out = y + (segment.row + r) * ldy + first;
    const __m512 value = _mm512_add_ps(_mm512_loadu_ps(sums + r * kOutputs), add);
    if (left >= kOutputs) {
      _mm512_storeu_ps(out, value);
    } else {
      alignas(64) float lanes[kOutputs];
      _mm512_storeu_ps(lanes, value);
      std::memcpy(out, lanes, static_cast<size_t>(left) * sizeof(float));
    }
  }
}

// Panels of weights as B tiles: tile (block, part) at data + (block * parts + part) * 1024.
struct PanelTiles {
  const std::byte* data[2] = {};
};

// C += A B over blocks of 32 columns. kParts 2: high and low parts of F16 weights, added in this order.
template <int kSegments, int kPanels, int kParts>
void DotBlocks(const uint16_t* a0, const uint16_t* a1, const PanelTiles& b, int64_t num_blocks) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    LoadTile<4>(a0 + block * kActivationTile, 64);
    if constexpr (kSegments == 2) LoadTile<5>(a1 + block * kActivationTile, 64);
    for (int part = 0; part < kParts; ++part) {
      const int64_t offset = (block * kParts + part) * kTileBytes;
      LoadTile<6>(b.data[0] + offset, 64);
      DotBf16<0, 4, 6>();
      if constexpr (kSegments == 2) DotBf16<2, 5, 6>();
      if constexpr (kPanels == 2) {
        LoadTile<7>(b.data[1] + offset, 64);
        DotBf16<1, 4, 7>();
        if constexpr (kSegments == 2) DotBf16<3, 5, 7>();
      }
    }
  }
}

// Sums of a row block and two panels: [segment][panel][16 rows][16 outputs].
struct PlainSums {
  alignas(64) float at[kMaxSegments][2][kTileFloats];
};

template <int kSegments, int kPanels, int kParts>
void AddBlocks(const Activation& x, const Segment* segments, const PanelTiles& b, int64_t first_block,
               int64_t num_blocks, float (*sums)[2][kTileFloats], TileShapes* shapes) {
  const Segment& last = segments[kSegments - 1];
  shapes->Set(segments[0].count, last.count, 16);
  if (first_block == 0) {
    ZeroTile<0>();
    if constexpr (kPanels == 2) ZeroTile<1>();
    if constexpr (kSegments == 2) ZeroTile<2>();
    if constexpr (kSegments == 2 && kPanels == 2) ZeroTile<3>();
  } else {
    LoadTile<0>(sums[0][0], 64);
    if constexpr (kPanels == 2) LoadTile<1>(sums[0][1], 64);
    if constexpr (kSegments == 2) LoadTile<2>(sums[1][0], 64);
    if constexpr (kSegments == 2 && kPanels == 2) LoadTile<3>(sums[1][1], 64);
  }
  DotBlocks<kSegments, kPanels, kParts>(x.bf16(segments[0].row, first_block), x.bf16(last.row, first_block),
                                        b, num_blocks);
  StoreTile<0>(sums[0][0], 64);
  if constexpr (kPanels == 2) StoreTile<1>(sums[0][1], 64);
  if constexpr (kSegments == 2) StoreTile<2>(sums[1][0], 64);
  if constexpr (kSegments == 2 && kPanels == 2) StoreTile<3>(sums[1][1], 64);
}

// One row block against one or two panels. tiles(first_block, num_blocks): the panels' B tiles of a span of
// columns.
template <int kPanels, int kParts, typename TilesOf>
void RunPanels(const PackedLinear& weights, const Activation& x, const Segments& segments, int64_t panel,
               int64_t blocks_at_once, const float* bias, float* y, int64_t ldy, TileShapes* shapes,
               TilesOf&& tiles) {
  PlainSums sums;
  const int64_t num_blocks = weights.padded_cols() / kLinearBlock;
  for (int64_t first = 0; first < num_blocks; first += blocks_at_once) {
    const int64_t count = num_blocks - first < blocks_at_once ? num_blocks - first : blocks_at_once;
    const PanelTiles b = tiles(first, count);
    int64_t s = 0;
    for (; s + 2 <= segments.size; s += 2) {
      AddBlocks<2, kPanels, kParts>(x, segments.at + s, b, first, count, sums.at + s, shapes);
    }
    if (s < segments.size) {
      AddBlocks<1, kPanels, kParts>(x, segments.at + s, b, first, count, sums.at + s, shapes);
    }
  }
  for (int64_t s = 0; s < segments.size; ++s) {
    for (int64_t p = 0; p < kPanels; ++p) {
      StoreOutputs(weights, sums.at[s][p], segments.at[s], panel + p, bias, y, ldy);
    }
  }
}

// fn(Segments, first panel, integral_constant panels) for blocks of rows and pairs of panels.
template <typename Fn>
void ForRowsAndPanels(IndexRange rows, IndexRange panels, Fn&& fn) {
  for (int64_t row = rows.begin; row < rows.end; row += kRowsAtOnce) {
    const Segments segments({row, row + kRowsAtOnce < rows.end ? row + kRowsAtOnce : rows.end});
    int64_t panel = panels.begin;
    for (; panel + 2 <= panels.end; panel += 2) fn(segments, panel, std::integral_constant<int, 2>{});
    if (panel < panels.end) fn(segments, panel, std::integral_constant<int, 1>{});
  }
}

// The upper halves of two vectors of floats, in pairs: [16][2] BF16.
__m512i JoinPairs(__m512 even, __m512 odd) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  return _mm512_or_si512(_mm512_srli_epi32(_mm512_castps_si512(even), 16),
                         _mm512_and_si512(_mm512_castps_si512(odd), high));
}

__m512 HighPart(__m512 value) {
  const __m512i high = _mm512_set1_epi32(static_cast<int>(0xFFFF0000));
  return _mm512_castsi512_ps(_mm512_and_si512(_mm512_castps_si512(value), high));
}

__m512 LoadHalves(const void* at) {
  return _mm512_cvtph_ps(_mm256_loadu_si256(static_cast<const __m256i*>(at)));
}

__m512 LoadCodes(const std::byte* at) {
  return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at))));
}

// F16 columns [k][16] to B tiles; with kParts 2 each block's tile of high parts is followed by that of low
// parts.
template <int kParts>
void ExpandHalves(const std::byte* panel, int64_t first_block, int64_t num_blocks, std::byte* out) {
  for (int64_t block = 0; block < num_blocks; ++block) {
    std::byte* tile = out + block * kParts * kTileBytes;
    for (int64_t pair = 0; pair < kLinearBlock / 2; ++pair) {
      const std::byte* at = panel + ((first_block + block) * kLinearBlock + 2 * pair) * kOutputs * 2;
      const __m512 even = LoadHalves(at);
      const __m512 odd = LoadHalves(at + kOutputs * 2);
      _mm512_storeu_si512(tile + pair * 64, JoinPairs(even, odd));
      if constexpr (kParts == 2) {
        const __m512i low = JoinPairs(_mm512_sub_ps(even, HighPart(even)), _mm512_sub_ps(odd, HighPart(odd)));
        _mm512_storeu_si512(tile + kTileBytes + pair * 64, low);
      }
    }
  }
}

template <int kParts>
void RunF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
            const float* bias, float* y, int64_t ldy) {
  TileShapes shapes;
  ForRowsAndPanels(rows, panels, [&](const Segments& segments, int64_t panel, auto num_panels) {
    constexpr int64_t kBlocks = kExpandedCols / kLinearBlock;
    alignas(64) std::byte expanded[2][kBlocks * kParts * kTileBytes];
    RunPanels<num_panels, kParts>(
        weights, x, segments, panel, kBlocks, bias, y, ldy, &shapes, [&](int64_t first, int64_t count) {
          for (int64_t p = 0; p < num_panels; ++p) {
            ExpandHalves<kParts>(weights.panel(panel + p), first, count, expanded[p]);
          }
          return PanelTiles{{expanded[0], expanded[1]}};
        });
  });
}

// A span of columns of one panel of integer codes: a B tile per group, scales and mins [group][16].
template <int kGroup>
struct ExpandedGroups {
  static constexpr int64_t kGroups = kExpandedCols / kGroup;
  static constexpr int64_t kGroupTileBytes = kGroup / 2 * 64;
  alignas(64) std::byte tiles[kGroups * kGroupTileBytes];
  alignas(64) float scales[kGroups * kOutputs];
  alignas(64) float mins[kGroups * kOutputs];
};

__m512 LoadScales(const std::byte* at, bool f16) {
  return f16 ? LoadHalves(at) : _mm512_loadu_ps(reinterpret_cast<const float*>(at));
}

template <int kBits, int kGroup>
void ExpandGroups(const PackedLinear& weights, int64_t panel, int64_t first_group, int64_t num_groups,
                  ExpandedGroups<kGroup>* out) {
  __m512 table = _mm512_setzero_ps();
  if constexpr (kBits == 4)
    table = LoadCodes(reinterpret_cast<const std::byte*>(weights.format().code_table));
  const bool f16 = weights.format().f16_scales;
  for (int64_t g = 0; g < num_groups; ++g) {
    const std::byte* record = weights.panel(panel) + (first_group + g) * weights.record_bytes();
    std::byte* tile = out->tiles + g * ExpandedGroups<kGroup>::kGroupTileBytes;
    for (int64_t pair = 0; pair < kGroup / 2; ++pair) {
      __m512 even;
      __m512 odd;
      if constexpr (kBits == 4) {
        const auto* at = reinterpret_cast<const __m128i*>(record + pair * kOutputs);
        const __m512i nibbles = _mm512_cvtepu8_epi32(_mm_loadu_si128(at));
        even = _mm512_permutexvar_ps(nibbles, table);  // reads four bits of an index
        odd = _mm512_permutexvar_ps(_mm512_srli_epi32(nibbles, 4), table);
      } else {
        even = LoadCodes(record + 2 * pair * kOutputs);
        odd = LoadCodes(record + (2 * pair + 1) * kOutputs);
      }
      _mm512_storeu_si512(tile + pair * 64, JoinPairs(even, odd));
    }
    _mm512_storeu_ps(out->scales + g * kOutputs, LoadScales(record + weights.scales_offset(), f16));
    if (weights.format().has_min) {
      _mm512_storeu_ps(out->mins + g * kOutputs, LoadScales(record + weights.mins_offset(), f16));
    }
  }
}

// sums[r] += the groups of a span, for a segment of up to kRows rows. group_sums: row r at + r * stride.
template <int kGroup, int kRows, bool kMin>
void AddGroups(const Activation& x, const Segment& segment, const ExpandedGroups<kGroup>& b,
               int64_t first_group, int64_t num_groups, float* sums) {
  __m512 acc[kRows];
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) acc[r] = _mm512_loadu_ps(sums + r * kOutputs);
  alignas(64) float dots[2][kTileFloats];
  for (int r = segment.count; r < kRows; ++r) {
    for (float(&dot)[kTileFloats] : dots) _mm512_storeu_ps(dot + r * kOutputs, _mm512_setzero_ps());
  }
  const float* group_sums = nullptr;
  if constexpr (kMin) group_sums = x.sums(segment.row, kGroup) + first_group;
  const int64_t stride = x.padded_cols() / kGroup;
  const auto add = [&](int64_t g, const float* dot) __attribute__((always_inline)) {
    const __m512 scale = _mm512_loadu_ps(b.scales + g * kOutputs);
#pragma GCC unroll 16
    for (int r = 0; r < kRows; ++r) {
      acc[r] = _mm512_fmadd_ps(_mm512_loadu_ps(dot + r * kOutputs), scale, acc[r]);
    }
    if constexpr (kMin) {
      const __m512 min = _mm512_loadu_ps(b.mins + g * kOutputs);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        acc[r] = _mm512_fmadd_ps(_mm512_set1_ps(group_sums[r * stride + g]), min, acc[r]);
      }
    }
  };
  const auto load_a = [&](int64_t g) {
    const int64_t column = (first_group + g) * kGroup;
    return x.bf16(segment.row, column / kLinearBlock) + column % kLinearBlock;
  };
  const std::byte* tiles = b.tiles;
  constexpr int64_t kBytes = ExpandedGroups<kGroup>::kGroupTileBytes;
  // Two groups at a time in different registers, so that one is scaled while the other is multiplied.
  int64_t g = 0;
  for (; g + 2 <= num_groups; g += 2) {
    ZeroTile<0>();
    LoadTile<4>(load_a(g), 64);
    LoadTile<6>(tiles + g * kBytes, 64);
    DotBf16<0, 4, 6>();
    StoreTile<0>(dots[0], 64);
    ZeroTile<1>();
    LoadTile<4>(load_a(g + 1), 64);
    LoadTile<7>(tiles + (g + 1) * kBytes, 64);
    DotBf16<1, 4, 7>();
    StoreTile<1>(dots[1], 64);
    add(g, dots[0]);
    add(g + 1, dots[1]);
  }
  if (g < num_groups) {
    ZeroTile<0>();
    LoadTile<4>(load_a(g), 64);
    LoadTile<6>(tiles + g * kBytes, 64);
    DotBf16<0, 4, 6>();
    StoreTile<0>(dots[0], 64);
    add(g, dots[0]);
  }
#pragma GCC unroll 16
  for (int r = 0; r < kRows; ++r) _mm512_storeu_ps(sums + r * kOutputs, acc[r]);
}

template <int kGroup, bool kMin>
void AddGroupsOf(const Activation& x, const Segment& segment, const ExpandedGroups<kGroup>& b,
                 int64_t first_group, int64_t num_groups, float* sums) {
  if (segment.count > 8) {
    AddGroups<kGroup, 16, kMin>(x, segment, b, first_group, num_groups, sums);
  } else if (segment.count > 4) {
    AddGroups<kGroup, 8, kMin>(x, segment, b, first_group, num_groups, sums);
  } else {
    AddGroups<kGroup, 4, kMin>(x, segment, b, first_group, num_groups, sums);
  }
}

template <int kBits, int kGroup, bool kMin>
void RunGroups(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  TileShapes shapes;
  const int64_t num_groups = weights.padded_cols() / kGroup;
  for (int64_t row = rows.begin; row < rows.end; row += kRowsAtOnce) {
    const Segments segments({row, row + kRowsAtOnce < rows.end ? row + kRowsAtOnce : rows.end});
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      alignas(64) float sums[kMaxSegments][kTileFloats];
      std::memset(sums, 0, sizeof(float) * kTileFloats * static_cast<size_t>(segments.size));
      ExpandedGroups<kGroup> expanded;
      for (int64_t first = 0; first < num_groups; first += expanded.kGroups) {
        const int64_t left = num_groups - first;
        const int64_t count = left < expanded.kGroups ? left : expanded.kGroups;
        ExpandGroups<kBits, kGroup>(weights, panel, first, count, &expanded);
        for (int64_t s = 0; s < segments.size; ++s) {
          shapes.Set(segments.at[s].count, segments.at[s].count, kGroup / 2);
          AddGroupsOf<kGroup, kMin>(x, segments.at[s], expanded, first, count, sums[s]);
        }
      }
      for (int64_t s = 0; s < segments.size; ++s) {
        StoreOutputs(weights, sums[s], segments.at[s], panel, bias, y, ldy);
      }
    }
  }
}

template <int kBits>
void RunCodes(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
              const float* bias, float* y, int64_t ldy) {
  const bool min = weights.format().has_min;
  if (weights.format().group_size == 32) {
    (min ? RunGroups<kBits, 32, true> : RunGroups<kBits, 32, false>)(weights, x, rows, panels, bias, y, ldy);
  } else {
    (min ? RunGroups<kBits, 16, true> : RunGroups<kBits, 16, false>)(weights, x, rows, panels, bias, y, ldy);
  }
}

}  // namespace

void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy) {
  TileShapes shapes;
  const int64_t all_blocks = weights.padded_cols() / kLinearBlock;
  ForRowsAndPanels(rows, panels, [&](const Segments& segments, int64_t panel, auto num_panels) {
    const int64_t blocks = segments.size > 2 ? kPlainCols / kLinearBlock : all_blocks;
    RunPanels<num_panels, 1>(weights, x, segments, panel, blocks, bias, y, ldy, &shapes,
                             [&](int64_t first, int64_t) {
                               PanelTiles tiles;
                               for (int64_t p = 0; p < num_panels; ++p) {
                                 tiles.data[p] = weights.panel(panel + p) + first * kTileBytes;
                               }
                               return tiles;
                             });
  });
}

void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  if (rows.size() <= kFewRows) {
    FIREBRICK_AVX512_NAMESPACE::LinearF16(weights, x, rows, panels, bias, y, ldy);
    return;
  }
  bool low_parts = false;
  for (int64_t panel = panels.begin; panel < panels.end; ++panel) low_parts |= weights.HasLowParts(panel);
  (low_parts ? RunF16<2> : RunF16<1>)(weights, x, rows, panels, bias, y, ldy);
}

void LinearCodes8(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
  (rows.size() <= kFewRows ? FIREBRICK_AVX512_NAMESPACE::LinearCodes8 : RunCodes<8>)(weights, x, rows, panels,
                                                                                     bias, y, ldy);
}

void LinearCodes4(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
  (rows.size() <= kFewRows ? FIREBRICK_AVX512_NAMESPACE::LinearCodes4 : RunCodes<4>)(weights, x, rows, panels,
                                                                                     bias, y, ldy);
}

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
