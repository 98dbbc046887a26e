// Sixteen rows of a weight matrix turned into sixteen lanes per column: what packing a whole panel does, with
// vector code at about the speed of memory. AVX2 is the baseline of every file. Thread: any; pure functions.
#pragma once

#include <cstdint>

#include <immintrin.h>

namespace firebrick::panel {

// Eight rows of eight 32-bit values: out[k * 16 + r] = rows[r * stride + k].
inline void Transpose8x8Words(const uint32_t* rows, int64_t stride, uint32_t* out) {
  __m256i a[8];
  __m256i b[8];
  for (int r = 0; r < 8; ++r) {
    a[r] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(rows + r * stride));
  }
  for (int r = 0; r < 8; r += 2) {
    b[r] = _mm256_unpacklo_epi32(a[r], a[r + 1]);
    b[r + 1] = _mm256_unpackhi_epi32(a[r], a[r + 1]);
  }
  for (int r = 0; r < 8; r += 4) {
    a[r] = _mm256_unpacklo_epi64(b[r], b[r + 2]);
    a[r + 1] = _mm256_unpackhi_epi64(b[r], b[r + 2]);
    a[r + 2] = _mm256_unpacklo_epi64(b[r + 1], b[r + 3]);
    a[r + 3] = _mm256_unpackhi_epi64(b[r + 1], b[r + 3]);
  }
  for (int k = 0; k < 4; ++k) {
    auto* low = reinterpret_cast<__m256i*>(out + k * 16);
    auto* high = reinterpret_cast<__m256i*>(out + (k + 4) * 16);
    _mm256_storeu_si256(low, _mm256_permute2x128_si256(a[k], a[k + 4], 0x20));
    _mm256_storeu_si256(high, _mm256_permute2x128_si256(a[k], a[k + 4], 0x31));
  }
}

// Sixteen rows of `count` 32-bit values, a multiple of eight: out[k * 16 + r] = rows[r * stride + k].
inline void TransposeWords(const uint32_t* rows, int64_t stride, int64_t count, uint32_t* out) {
  for (int64_t k = 0; k < count; k += 8) {
    Transpose8x8Words(rows + k, stride, out + k * 16);
    Transpose8x8Words(rows + 8 * stride + k, stride, out + k * 16 + 8);
  }
}

// The 16 x 16 bytes whose rows are tile[0..15], in place: byte r of tile[k] becomes what byte k of tile[r]
// was.
inline void TransposeBytes(__m128i (&tile)[16]) {
  __m128i t[16];
  // Each round interleaves the rows that are 8, 4, 2, 1 apart; four rounds are a transposition.
  const auto round = [](const __m128i* from, __m128i* to) {
    for (int i = 0; i < 8; ++i) {
      to[2 * i] = _mm_unpacklo_epi8(from[i], from[i + 8]);
      to[2 * i + 1] = _mm_unpackhi_epi8(from[i], from[i + 8]);
    }
  };
  round(tile, t);
  round(t, tile);
  round(tile, t);
  round(t, tile);
}

// Sixteen rows of eight 16-bit values: out[k * 16 + r] = rows[r * stride + k].
inline void Transpose16x8Halves(const uint16_t* rows, int64_t stride, uint16_t* out) {
  for (int half = 0; half < 2; ++half) {
    __m128i a[8];
    __m128i b[8];
    for (int r = 0; r < 8; ++r) {
      a[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(rows + (half * 8 + r) * stride));
    }
    const auto round = [](const __m128i* from, __m128i* to) {
      for (int i = 0; i < 4; ++i) {
        to[2 * i] = _mm_unpacklo_epi16(from[i], from[i + 4]);
        to[2 * i + 1] = _mm_unpackhi_epi16(from[i], from[i + 4]);
      }
    };
    round(a, b);
    round(b, a);
    round(a, b);
    for (int k = 0; k < 8; ++k) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + k * 16 + half * 8), b[k]);
    }
  }
}

}  // namespace firebrick::panel
