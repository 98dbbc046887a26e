#include "kernels/amx/amx.h"
#include "kernels/amx/tiles.h"
#include "kernels/avx512/lanes_avx512.h"
#include "kernels/lanes/peak.h"

namespace firebrick::FIREBRICK_AMX_NAMESPACE {
namespace {

constexpr int64_t kFlopsPerTile = 16 * 16 * 32 * 2;

void ConfigureFullTiles() {
  TileConfig config;
  for (int tile = 0; tile < 8; ++tile) config.Set(tile, 16, 64);
  LoadConfig(config);
}

int64_t Plain(int64_t iterations) {
  ConfigureFullTiles();
  ZeroTile<0>();
  ZeroTile<1>();
  ZeroTile<2>();
  ZeroTile<3>();
  ZeroTile<4>();
  ZeroTile<5>();
  ZeroTile<6>();
  ZeroTile<7>();
  for (int64_t i = 0; i < iterations; ++i) {
    DotBf16<0, 4, 6>();
    DotBf16<1, 4, 7>();
    DotBf16<2, 5, 6>();
    DotBf16<3, 5, 7>();
  }
  ReleaseTiles();
  return iterations * 4 * kFlopsPerTile;
}

// Two tiles a turn, as the kernel takes them.
int64_t Grouped(int64_t iterations) {
  ConfigureFullTiles();
  ZeroTile<4>();
  ZeroTile<6>();
  alignas(64) float dots[2][256] = {};
  __m512 acc[16];
#pragma GCC unroll 16
  for (__m512& row : acc) row = _mm512_setzero_ps();
  const __m512 scale = _mm512_set1_ps(0.5F);
  for (int64_t i = 0; i < iterations; ++i) {
    ZeroTile<0>();
    DotBf16<0, 4, 6>();
    StoreTile<0>(dots[0], 64);
    ZeroTile<1>();
    DotBf16<1, 4, 6>();
    StoreTile<1>(dots[1], 64);
    for (const float(&dot)[256] : dots) {
#pragma GCC unroll 16
      for (int r = 0; r < 16; ++r) acc[r] = _mm512_fmadd_ps(_mm512_loadu_ps(dot + r * 16), scale, acc[r]);
    }
  }
  ReleaseTiles();
  __m512 sum = _mm512_setzero_ps();
#pragma GCC unroll 16
  for (const __m512& row : acc) sum = _mm512_add_ps(sum, row);
  alignas(64) float lanes[16];
  _mm512_storeu_ps(lanes, sum);
  volatile float sink = lanes[0];
  static_cast<void>(sink);
  return iterations * 2 * kFlopsPerTile;
}

}  // namespace

const PeakLoops kPeakLoops = {Plain, Grouped, lanes::Peak<FIREBRICK_AVX512_NAMESPACE::Lanes>::Read};

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
