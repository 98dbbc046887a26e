// Attention on the tile units: pages are B operands as they lie (kernels/kv_view.h); softmax and merging are
// those of AVX-512. F32 pages and head sizes that are no multiple of 32 go to AVX-512 altogether.
#include "kernels/amx/amx.h"
#include "kernels/amx/tiles.h"
#include "kernels/avx512/lanes_avx512.h"
#include "kernels/lanes/attention.h"

namespace firebrick::FIREBRICK_AMX_NAMESPACE {
namespace {

using Kernel = lanes::AttentionKernel<FIREBRICK_AVX512_NAMESPACE::Lanes>;
using RowBlock = Kernel::RowBlock;
using Scratch = Kernel::Scratch;

constexpr int64_t kTileRows = 16;
constexpr int64_t kTileElements = 512;  // 16 rows x 32 BF16
static_assert(kAttentionRows == 2 * kTileRows);

// Registers: C 0 to 3, for (row tile, column tile) number 2 t + c; A 4 and 5, one per row tile; B 6 and 7.
// The left operands lie as [row tile][block of 32][16][32] BF16: queries in Scratch::queries.
struct AmxTiles {
  static uint16_t* Queries(const Scratch& s) { return reinterpret_cast<uint16_t*>(s.queries); }

  // 16 floats that are exact in BF16.
  static void StoreBf16(uint16_t* out, __m512 value) {
    FIREBRICK_AVX512_NAMESPACE::Lanes::StoreBf16(out, value);
  }

  static void LoadQueries(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s) {
    TileConfig config;
    const int64_t rows0 = rows.num_rows < kTileRows ? rows.num_rows : kTileRows;
    const int64_t rows1 = rows.num_rows > kTileRows ? rows.num_rows - kTileRows : rows0;
    for (const int tile : {0, 1, 4}) config.Set(tile, rows0, 64);
    for (const int tile : {2, 3, 5}) config.Set(tile, rows1, 64);
    for (const int tile : {6, 7}) config.Set(tile, 16, 64);
    LoadConfig(config);
    const int64_t head_dim = args.pages.head_dim;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const float* query = args.queries + rows.Query(r) * args.query_stride + rows.Head(r) * head_dim;
      uint16_t* out = Queries(s) + r / kTileRows * kTileRows * padded + r % kTileRows * 32;
      for (int64_t d = 0; d < head_dim; d += 16) {
        StoreBf16(out + d / 32 * kTileElements + d % 32,
                  Kernel::RoundAs(KvDType::kBF16, _mm512_loadu_ps(query + d)));
      }
    }
  }

  static void Scores(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                     const std::byte* key_tile, int64_t column) {
    if (rows.num_rows > kTileRows) {
      ScoresOf<2>(args, rows, padded, s, key_tile, column);
    } else {
      ScoresOf<1>(args, rows, padded, s, key_tile, column);
    }
  }

  template <int kRowTiles>
  static void ScoresOf(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                       const std::byte* key_tile, int64_t column) {
    ZeroTile<0>();
    ZeroTile<1>();
    if constexpr (kRowTiles == 2) {
      ZeroTile<2>();
      ZeroTile<3>();
    }
    const uint16_t* queries = Queries(s);
    constexpr int64_t kPairBytes = kBlockTokens * 2 * 2;
    for (int64_t block = 0; block < padded / 32; ++block) {
      LoadTile<4>(queries + block * kTileElements, 64);
      LoadTile<6>(key_tile + block * 16 * kPairBytes, kPairBytes);
      LoadTile<7>(key_tile + block * 16 * kPairBytes + 64, kPairBytes);
      DotBf16<0, 4, 6>();
      DotBf16<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        LoadTile<5>(queries + kTileRows * padded + block * kTileElements, 64);
        DotBf16<2, 5, 6>();
        DotBf16<3, 5, 7>();
      }
    }
    constexpr int64_t kStride = kPartitionTokens * sizeof(float);
    float* scores = s.weights + column;
    StoreTile<0>(scores, kStride);
    StoreTile<1>(scores + 16, kStride);
    if constexpr (kRowTiles == 2) {
      StoreTile<2>(scores + kTileRows * kPartitionTokens, kStride);
      StoreTile<3>(scores + kTileRows * kPartitionTokens + 16, kStride);
    }
    const __m512 scale = _mm512_set1_ps(args.scale);
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      float* row = scores + r * kPartitionTokens;
      _mm512_storeu_ps(row, _mm512_mul_ps(_mm512_loadu_ps(row), scale));
      _mm512_storeu_ps(row + 16, _mm512_mul_ps(_mm512_loadu_ps(row + 16), scale));
    }
  }

  static void Values(const AttentionArgs& args, const RowBlock& rows, int64_t padded, const Scratch& s,
                     int64_t first_block, int64_t last_block) {
    constexpr int64_t kMaxBlocks = kPartitionTokens / kBlockTokens;
    alignas(64) uint16_t weights[2 * kMaxBlocks * kTileElements];
    const int64_t num_blocks = last_block - first_block + 1;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const float* row = s.weights + r * kPartitionTokens;
      uint16_t* out = weights + r / kTileRows * kMaxBlocks * kTileElements + r % kTileRows * 32;
      for (int64_t c = 0; c < num_blocks * 32; c += 16) {
        StoreBf16(out + c / 32 * kTileElements + c % 32, _mm512_loadu_ps(row + c));
      }
    }
    for (int64_t d = 0; d < padded; d += 32) {
      if (rows.num_rows > kTileRows) {
        ValuesOf<2>(args, padded, s, weights, first_block, num_blocks, d);
      } else {
        ValuesOf<1>(args, padded, s, weights, first_block, num_blocks, d);
      }
    }
  }

  // Dimensions [d, d + 32).
  template <int kRowTiles>
  static void ValuesOf(const AttentionArgs& args, int64_t padded, const Scratch& s, const uint16_t* weights,
                       int64_t first_block, int64_t num_blocks, int64_t d) {
    ZeroTile<0>();
    ZeroTile<1>();
    if constexpr (kRowTiles == 2) {
      ZeroTile<2>();
      ZeroTile<3>();
    }
    constexpr int64_t kMaxBlocks = kPartitionTokens / kBlockTokens;
    const int64_t pair_bytes = static_cast<int64_t>(args.pages.head_dim) * 2 * 2;
    for (int64_t block = 0; block < num_blocks; ++block) {
      const std::byte* values = args.pages.ValueTile(static_cast<int32_t>(first_block + block)) + d * 4;
      LoadTile<4>(weights + block * kTileElements, 64);
      LoadTile<6>(values, pair_bytes);
      LoadTile<7>(values + 64, pair_bytes);
      DotBf16<0, 4, 6>();
      DotBf16<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        LoadTile<5>(weights + (kMaxBlocks + block) * kTileElements, 64);
        DotBf16<2, 5, 6>();
        DotBf16<3, 5, 7>();
      }
    }
    const auto stride = static_cast<int64_t>(padded * sizeof(float));
    float* part = s.part + d;
    StoreTile<0>(part, stride);
    StoreTile<1>(part + 16, stride);
    if constexpr (kRowTiles == 2) {
      StoreTile<2>(part + kTileRows * padded, stride);
      StoreTile<3>(part + kTileRows * padded + 16, stride);
    }
  }
};

}  // namespace

void Attention(const AttentionArgs& args, IndexRange queries, float* scratch) {
  if (args.pages.dtype != KvDType::kBF16 || args.pages.head_dim % 32 != 0 || queries.size() <= 0) {
    FIREBRICK_AVX512_NAMESPACE::Attention(args, queries, scratch);
    return;
  }
  Kernel::Run<AmxTiles>(args, queries, scratch);
  ReleaseTiles();
}

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
