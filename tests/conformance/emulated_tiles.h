// The tile unit in plain C++, after Intel's description of TILELOADD, TILESTORED and TDPBF16PS: denormals are
// zero going in and coming out, sums of pairs start at zero and are added to C last. Faults where the
// processor would.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/status.h"
#include "tensor/float_bits.h"

namespace firebrick::emulated {

struct TileUnit {
  bool configured = false;
  uint8_t rows[8] = {};
  uint16_t row_bytes[8] = {};
  alignas(64) std::byte data[8][16][64] = {};
};
inline thread_local TileUnit unit;

inline void LoadConfig(const uint8_t* rows, const uint16_t* row_bytes) {
  unit = {};
  unit.configured = true;
  for (int t = 0; t < 8; ++t) {
    CHECK(rows[t] <= 16 && row_bytes[t] <= 64);
    CHECK((rows[t] == 0) == (row_bytes[t] == 0));
    unit.rows[t] = rows[t];
    unit.row_bytes[t] = row_bytes[t];
  }
  for (int t = 8; t < 16; ++t) CHECK(rows[t] == 0 && row_bytes[t] == 0);
}

inline void Release() { unit = {}; }

inline void CheckUsable(int tile) { CHECK(unit.configured && unit.rows[tile] > 0); }

inline void Zero(int tile) {
  CheckUsable(tile);
  std::memset(unit.data[tile], 0, sizeof(unit.data[tile]));
}

inline void Load(int tile, const void* base, int64_t stride) {
  Zero(tile);
  for (int r = 0; r < unit.rows[tile]; ++r) {
    std::memcpy(unit.data[tile][r], static_cast<const std::byte*>(base) + r * stride, unit.row_bytes[tile]);
  }
}

inline void Store(int tile, void* base, int64_t stride) {
  CheckUsable(tile);
  for (int r = 0; r < unit.rows[tile]; ++r) {
    std::memcpy(static_cast<std::byte*>(base) + r * stride, unit.data[tile][r], unit.row_bytes[tile]);
  }
}

inline float Bf16At(const std::byte* row, int index) {
  uint16_t bits = 0;
  std::memcpy(&bits, row + index * 2, 2);
  return Bf16ToF32(bits);
}

// The tests run with denormals flushed both ways, as the tile unit does it whatever the mode.
inline void DotBf16(int c, int a, int b) {
  CheckUsable(c);
  CheckUsable(a);
  CheckUsable(b);
  CHECK(unit.row_bytes[a] / 4 == unit.rows[b]);
  CHECK(unit.rows[a] == unit.rows[c] && unit.row_bytes[b] == unit.row_bytes[c]);
  for (int m = 0; m < unit.rows[c]; ++m) {
    for (int n = 0; n < unit.row_bytes[c] / 4; ++n) {
      float even = 0.0F;
      float odd = 0.0F;
      for (int k = 0; k < unit.rows[b]; ++k) {
        even = std::fma(Bf16At(unit.data[a][m], 2 * k), Bf16At(unit.data[b][k], 2 * n), even);
        odd = std::fma(Bf16At(unit.data[a][m], 2 * k + 1), Bf16At(unit.data[b][k], 2 * n + 1), odd);
      }
      float sum = 0.0F;
      std::memcpy(&sum, unit.data[c][m] + n * 4, 4);
      sum += even + odd;
      std::memcpy(unit.data[c][m] + n * 4, &sum, 4);
    }
  }
}

}  // namespace firebrick::emulated
