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
    constexpr int64_t kPairBytes = kBlockTokens * 2 * 2;
    float* scores = s.weights + column;
    Multiply(
        rows, Queries(s), kTileRows * padded, padded / 32,
        [&](int64_t block) { return key_tile + block * 16 * kPairBytes; }, kPairBytes, scores,
        kPartitionTokens);
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
    const int64_t pair_bytes = static_cast<int64_t>(args.pages.head_dim) * 2 * 2;
    for (int64_t d = 0; d < padded; d += 32) {
      const auto values = [&](int64_t block) {
        return args.pages.ValueTile(static_cast<int32_t>(first_block + block)) + d * 4;
      };
      Multiply(rows, weights, kMaxBlocks * kTileElements, num_blocks, values, pair_bytes, s.part + d, padded);
    }
  }

  // out = left x right for all rows and 32 columns, over blocks of 32. left: the tiles of the second row tile
  // begin `second` elements on; right(block): its 16 pairs, pair_bytes apart; row r of the result at out + r
  // * ldo.
  template <typename Right>
  static void Multiply(const RowBlock& rows, const uint16_t* left, int64_t second, int64_t num_blocks,
                       Right&& right, int64_t pair_bytes, float* out, int64_t ldo) {
    if (rows.num_rows > kTileRows) {
      MultiplyTiles<2>(left, second, num_blocks, right, pair_bytes, out, ldo);
    } else {
      MultiplyTiles<1>(left, second, num_blocks, right, pair_bytes, out, ldo);
    }
  }

  template <int kRowTiles, typename Right>
  static void MultiplyTiles(const uint16_t* left, int64_t second, int64_t num_blocks, Right&& right,
                            int64_t pair_bytes, float* out, int64_t ldo) {
    ZeroTile<0>();
    ZeroTile<1>();
    if constexpr (kRowTiles == 2) {
      ZeroTile<2>();
      ZeroTile<3>();
    }
    for (int64_t block = 0; block < num_blocks; ++block) {
      const std::byte* b = right(block);
      LoadTile<4>(left + block * kTileElements, 64);
      LoadTile<6>(b, pair_bytes);
      LoadTile<7>(b + 64, pair_bytes);
      DotBf16<0, 4, 6>();
      DotBf16<1, 4, 7>();
      if constexpr (kRowTiles == 2) {
        LoadTile<5>(left + second + block * kTileElements, 64);
        DotBf16<2, 5, 6>();
        DotBf16<3, 5, 7>();
      }
    }
    const auto stride = ldo * static_cast<int64_t>(sizeof(float));
    StoreTile<0>(out, stride);
    StoreTile<1>(out + 16, stride);
    if constexpr (kRowTiles == 2) {
      StoreTile<2>(out + kTileRows * ldo, stride);
      StoreTile<3>(out + kTileRows * ldo + 16, stride);
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
