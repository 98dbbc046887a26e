// The tile instructions as functions: eight registers of 16 rows x 64 bytes. Written as inline assembly with
// a memory clobber, because GCC 12 declares only 8 of the 64 bytes that LDTILECFG reads and drops the stores
// that fill them. With FIREBRICK_EMULATED_TILES plain C++ stands in, by which the tests run this level bit
// for bit anywhere. Thread: the registers belong to the thread; Configure before use, Release after it.
// Included by amx/*.cc only.
#pragma once

#include <cstddef>
#include <cstdint>

#ifdef FIREBRICK_EMULATED_TILES
#include "emulated_tiles.h"
#endif

namespace firebrick::FIREBRICK_AMX_NAMESPACE {

// What LDTILECFG reads.
struct alignas(64) TileConfig {
  uint8_t palette = 1;
  uint8_t start_row = 0;
  uint8_t reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};

  void Set(int tile, int64_t num_rows, int64_t bytes) {
    rows[tile] = static_cast<uint8_t>(num_rows);
    row_bytes[tile] = static_cast<uint16_t>(bytes);
  }
};

#ifdef FIREBRICK_EMULATED_TILES

inline void LoadConfig(const TileConfig& config) { emulated::LoadConfig(config.rows, config.row_bytes); }
inline void ReleaseTiles() { emulated::Release(); }
template <int kTile>
inline void LoadTile(const void* base, int64_t stride) {
  emulated::Load(kTile, base, stride);
}
template <int kTile>
inline void StoreTile(void* base, int64_t stride) {
  emulated::Store(kTile, base, stride);
}
template <int kTile>
inline void ZeroTile() {
  emulated::Zero(kTile);
}
template <int kC, int kA, int kB>
inline void DotBf16() {
  emulated::DotBf16(kC, kA, kB);
}

#else

#define FIREBRICK_TILE __attribute__((always_inline)) inline

FIREBRICK_TILE void LoadConfig(const TileConfig& config) {
  __asm__ volatile("ldtilecfg %0" ::"m"(config) : "memory");
}
FIREBRICK_TILE void ReleaseTiles() { __asm__ volatile("tilerelease" ::: "memory"); }
// Row r of the tile is at base + r * stride bytes.
template <int kTile>
FIREBRICK_TILE void LoadTile(const void* base, int64_t stride) {
  __asm__ volatile("tileloadd (%0,%1,1), %%tmm%c2" ::"r"(base), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
FIREBRICK_TILE void StoreTile(void* base, int64_t stride) {
  __asm__ volatile("tilestored %%tmm%c2, (%0,%1,1)" ::"r"(base), "r"(stride), "i"(kTile) : "memory");
}
template <int kTile>
FIREBRICK_TILE void ZeroTile() {
  __asm__ volatile("tilezero %%tmm%c0" ::"i"(kTile));
}
// C += A B: each element of C gains the pair chain of a row of A and a column of B
// (docs/contracts/numerics.md).
template <int kC, int kA, int kB>
FIREBRICK_TILE void DotBf16() {
  __asm__ volatile("tdpbf16ps %%tmm%c2, %%tmm%c1, %%tmm%c0" ::"i"(kC), "i"(kA), "i"(kB));
}

#undef FIREBRICK_TILE

#endif

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
