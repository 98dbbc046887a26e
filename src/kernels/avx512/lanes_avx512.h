// 16 float lanes in one 512-bit register: AVX-512 F, BW, DQ, VL. Included by avx512/*.cc only.
#pragma once

#include <cstdint>

#include "kernels/avx512/avx512.h"
#include "kernels/avx512/intrinsics_avx512.h"
#include "kernels/lanes/micro.h"

namespace firebrick::FIREBRICK_AVX512_NAMESPACE {

struct Lanes {
  using F = __m512;
  using CodeTable = __m512;

  // 32 registers: 6 rows of 2 panels take 24 for their chains, and share each weight and each activation.
  static constexpr int kMicroRows = 6;
  static constexpr int kMicroPanels = 2;
  static constexpr int kFewRows = 6;
  static constexpr int kOneRowPanels = 4;

  static FIREBRICK_INLINE F Zero() { return _mm512_setzero_ps(); }
  static FIREBRICK_INLINE F Set1(float x) { return _mm512_set1_ps(x); }
  static FIREBRICK_INLINE F Load(const float* p) { return _mm512_loadu_ps(p); }
  static FIREBRICK_INLINE void Store(float* p, F v) { _mm512_storeu_ps(p, v); }
  static FIREBRICK_INLINE F Add(F a, F b) { return _mm512_add_ps(a, b); }
  static FIREBRICK_INLINE F Sub(F a, F b) { return _mm512_sub_ps(a, b); }
  static FIREBRICK_INLINE F Mul(F a, F b) { return _mm512_mul_ps(a, b); }
  static FIREBRICK_INLINE F Div(F a, F b) { return _mm512_div_ps(a, b); }
  static FIREBRICK_INLINE F Min(F a, F b) { return _mm512_min_ps(a, b); }
  static FIREBRICK_INLINE F Max(F a, F b) { return _mm512_max_ps(a, b); }
  static FIREBRICK_INLINE F Fma(F a, F b, F c) { return _mm512_fmadd_ps(a, b, c); }
  static FIREBRICK_INLINE F FmaMinus(F a, F b, F c) { return _mm512_fmsub_ps(a, b, c); }

  // 2^n of shifted = 1.5 * 2^23 + n.
  static FIREBRICK_INLINE F PowerOfTwo(F shifted) {
    const __m512i exponent = _mm512_slli_epi32(_mm512_castps_si512(shifted), 23);
    return _mm512_castsi512_ps(_mm512_add_epi32(exponent, _mm512_set1_epi32(0x3F800000)));
  }
  static FIREBRICK_INLINE F ZeroWhereLess(F value, F x, F bound) {
    return _mm512_mask_mov_ps(value, _mm512_cmp_ps_mask(x, bound, _CMP_LT_OQ), _mm512_setzero_ps());
  }
  // Lanes [begin, end) of `value`, `other` elsewhere; begin and end may lie outside [0, 16].
  static FIREBRICK_INLINE F KeepLanes(F value, int begin, int end, F other) {
    return _mm512_mask_mov_ps(other, static_cast<__mmask16>(LanesBelow(end) & ~LanesBelow(begin)), value);
  }

  static FIREBRICK_INLINE F RoundToBf16(F v) {
    const __m512i bits = _mm512_castps_si512(v);
    const __m512i last = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
    const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), last);
    const __m512i quiet_nan = _mm512_or_si512(bits, _mm512_set1_epi32(0x00400000));
    const __mmask16 is_nan = _mm512_cmp_ps_mask(v, v, _CMP_UNORD_Q);
    return HighPart(_mm512_castsi512_ps(_mm512_mask_mov_epi32(rounded, is_nan, quiet_nan)));
  }
  // The upper 16 bits of each lane.
  static FIREBRICK_INLINE void StoreBf16(uint16_t* p, F v) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p),
                        _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(v), 16)));
  }
  static FIREBRICK_INLINE F HighPart(F v) {
    return _mm512_castsi512_ps(
        _mm512_and_si512(_mm512_castps_si512(v), _mm512_set1_epi32(static_cast<int>(0xFFFF0000))));
  }

  // [16][2] BF16: the first and the second of each pair.
  static FIREBRICK_INLINE void LoadBf16Pairs(const uint16_t* p, F& even, F& odd) {
    const __m512i pairs = _mm512_loadu_si512(p);
    even = _mm512_castsi512_ps(_mm512_slli_epi32(pairs, 16));
    odd = HighPart(_mm512_castsi512_ps(pairs));
  }
  static FIREBRICK_INLINE void LoadF32Pairs(const float* p, F& even, F& odd) {
    const __m512 a = _mm512_loadu_ps(p);
    const __m512 b = _mm512_loadu_ps(p + 16);
    const __m512i firsts = _mm512_setr_epi32(0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30);
    even = _mm512_permutex2var_ps(a, firsts, b);
    odd = _mm512_permutex2var_ps(a, _mm512_add_epi32(firsts, _mm512_set1_epi32(1)), b);
  }
  static FIREBRICK_INLINE F LoadF16(const uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static FIREBRICK_INLINE F LoadInt8(const int8_t* p) {
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
  }
  static FIREBRICK_INLINE CodeTable LoadCodeTable(const int8_t* codes) { return LoadInt8(codes); }
  // [16] bytes: the codes of the low and of the high nibbles. The permutation reads four bits of an index.
  static FIREBRICK_INLINE void LoadNibblePairs(const uint8_t* p, CodeTable table, F& even, F& odd) {
    const __m512i bytes = _mm512_cvtepu8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
    even = _mm512_permutexvar_ps(bytes, table);
    odd = _mm512_permutexvar_ps(_mm512_srli_epi32(bytes, 4), table);
  }

 private:
  static FIREBRICK_INLINE uint32_t LanesBelow(int end) {
    return end <= 0 ? 0 : end >= 16 ? 0xFFFF : (1U << end) - 1;
  }
};

}  // namespace firebrick::FIREBRICK_AVX512_NAMESPACE
