// 16 float lanes in two 256-bit registers: AVX2, FMA, F16C. Included by avx2/*.cc only.
#pragma once

#include <cstdint>

#include <immintrin.h>

#include "kernels/lanes/micro.h"

namespace firebrick::avx2 {

struct Lanes {
  struct F {
    __m256 lo;
    __m256 hi;
  };
  using CodeTable = __m128i;

  // Sixteen registers: 3 rows of 16 columns take 12 for their chains.
  static constexpr int kMicroRows = 3;
  static constexpr int kMicroPanels = 1;
  static constexpr int kFewRows = 3;
  static constexpr int kOneRowPanels = 2;

  static FIREBRICK_INLINE F Zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static FIREBRICK_INLINE F Set1(float x) {
    const __m256 v = _mm256_set1_ps(x);
    return {v, v};
  }
  static FIREBRICK_INLINE F Load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static FIREBRICK_INLINE void Store(float* p, F v) {
    _mm256_storeu_ps(p, v.lo);
    _mm256_storeu_ps(p + 8, v.hi);
  }
  static FIREBRICK_INLINE F Add(F a, F b) { return {_mm256_add_ps(a.lo, b.lo), _mm256_add_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Sub(F a, F b) { return {_mm256_sub_ps(a.lo, b.lo), _mm256_sub_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Mul(F a, F b) { return {_mm256_mul_ps(a.lo, b.lo), _mm256_mul_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Div(F a, F b) { return {_mm256_div_ps(a.lo, b.lo), _mm256_div_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Min(F a, F b) { return {_mm256_min_ps(a.lo, b.lo), _mm256_min_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Max(F a, F b) { return {_mm256_max_ps(a.lo, b.lo), _mm256_max_ps(a.hi, b.hi)}; }
  static FIREBRICK_INLINE F Fma(F a, F b, F c) {
    return {_mm256_fmadd_ps(a.lo, b.lo, c.lo), _mm256_fmadd_ps(a.hi, b.hi, c.hi)};
  }
  static FIREBRICK_INLINE F FmaMinus(F a, F b, F c) {
    return {_mm256_fmsub_ps(a.lo, b.lo, c.lo), _mm256_fmsub_ps(a.hi, b.hi, c.hi)};
  }

  // 2^n of shifted = 1.5 * 2^23 + n.
  static FIREBRICK_INLINE F PowerOfTwo(F shifted) {
    return {PowerOfTwo8(shifted.lo), PowerOfTwo8(shifted.hi)};
  }
  static FIREBRICK_INLINE F ZeroWhereLess(F value, F x, F bound) {
    return {_mm256_andnot_ps(_mm256_cmp_ps(x.lo, bound.lo, _CMP_LT_OQ), value.lo),
            _mm256_andnot_ps(_mm256_cmp_ps(x.hi, bound.hi, _CMP_LT_OQ), value.hi)};
  }
  // Lanes [begin, end) of `value`, `other` elsewhere; begin and end may lie outside [0, 16].
  static FIREBRICK_INLINE F KeepLanes(F value, int begin, int end, F other) {
    const __m256i index = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    return {KeepLanes8(value.lo, index, begin, end, other.lo),
            KeepLanes8(value.hi, index, begin - 8, end - 8, other.hi)};
  }

  static FIREBRICK_INLINE F RoundToBf16(F v) { return {RoundToBf16x8(v.lo), RoundToBf16x8(v.hi)}; }
  // The upper 16 bits of each lane.
  static FIREBRICK_INLINE void StoreBf16(uint16_t* p, F v) {
    const __m256i packed = _mm256_packus_epi32(_mm256_srli_epi32(_mm256_castps_si256(v.lo), 16),
                                               _mm256_srli_epi32(_mm256_castps_si256(v.hi), 16));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm256_permute4x64_epi64(packed, 0xD8));
  }
  static FIREBRICK_INLINE F HighPart(F v) { return {HighPart8(v.lo), HighPart8(v.hi)}; }

  // [16][2] BF16: the first and the second of each pair.
  static FIREBRICK_INLINE void LoadBf16Pairs(const uint16_t* p, F& even, F& odd) {
    const auto* at = reinterpret_cast<const __m256i*>(p);
    const __m256i lo = _mm256_loadu_si256(at);
    const __m256i hi = _mm256_loadu_si256(at + 1);
    even = {_mm256_castsi256_ps(_mm256_slli_epi32(lo, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(hi, 16))};
    odd = {HighPart8(_mm256_castsi256_ps(lo)), HighPart8(_mm256_castsi256_ps(hi))};
  }
  static FIREBRICK_INLINE void LoadF32Pairs(const float* p, F& even, F& odd) {
    const __m256 a = _mm256_loadu_ps(p);
    const __m256 b = _mm256_loadu_ps(p + 8);
    const __m256 c = _mm256_loadu_ps(p + 16);
    const __m256 d = _mm256_loadu_ps(p + 24);
    even = {InOrder(_mm256_shuffle_ps(a, b, 0x88)), InOrder(_mm256_shuffle_ps(c, d, 0x88))};
    odd = {InOrder(_mm256_shuffle_ps(a, b, 0xDD)), InOrder(_mm256_shuffle_ps(c, d, 0xDD))};
  }
  static FIREBRICK_INLINE F LoadF16(const uint16_t* p) {
    const auto* at = reinterpret_cast<const __m128i*>(p);
    return {_mm256_cvtph_ps(_mm_loadu_si128(at)), _mm256_cvtph_ps(_mm_loadu_si128(at + 1))};
  }
  static FIREBRICK_INLINE F LoadInt8(const int8_t* p) {
    return {FromInt8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p))),
            FromInt8(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static FIREBRICK_INLINE CodeTable LoadCodeTable(const int8_t* codes) {
    return _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes));
  }
  // [16] bytes: the codes of the low and of the high nibbles.
  static FIREBRICK_INLINE void LoadNibblePairs(const uint8_t* p, CodeTable table, F& even, F& odd) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(p));
    const __m128i low_bits = _mm_set1_epi8(15);
    const __m128i low = _mm_shuffle_epi8(table, _mm_and_si128(bytes, low_bits));
    const __m128i high = _mm_shuffle_epi8(table, _mm_and_si128(_mm_srli_epi16(bytes, 4), low_bits));
    even = {FromInt8(low), FromInt8(_mm_unpackhi_epi64(low, low))};
    odd = {FromInt8(high), FromInt8(_mm_unpackhi_epi64(high, high))};
  }

 private:
  static FIREBRICK_INLINE __m256 PowerOfTwo8(__m256 shifted) {
    const __m256i exponent = _mm256_slli_epi32(_mm256_castps_si256(shifted), 23);
    return _mm256_castsi256_ps(_mm256_add_epi32(exponent, _mm256_set1_epi32(0x3F800000)));
  }
  static FIREBRICK_INLINE __m256 KeepLanes8(__m256 value, __m256i index, int begin, int end, __m256 other) {
    const __m256i below_end = _mm256_cmpgt_epi32(_mm256_set1_epi32(end), index);
    const __m256i below_begin = _mm256_cmpgt_epi32(_mm256_set1_epi32(begin), index);
    return _mm256_blendv_ps(other, value, _mm256_castsi256_ps(_mm256_andnot_si256(below_begin, below_end)));
  }
  static FIREBRICK_INLINE __m256 HighPart8(__m256 v) {
    return _mm256_and_ps(v, _mm256_castsi256_ps(_mm256_set1_epi32(static_cast<int>(0xFFFF0000))));
  }
  static FIREBRICK_INLINE __m256 RoundToBf16x8(__m256 v) {
    const __m256i bits = _mm256_castps_si256(v);
    const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
    const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), last);
    const __m256i quiet_nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
    const __m256 is_nan = _mm256_cmp_ps(v, v, _CMP_UNORD_Q);
    return HighPart8(_mm256_blendv_ps(_mm256_castsi256_ps(rounded), _mm256_castsi256_ps(quiet_nan), is_nan));
  }
  static FIREBRICK_INLINE __m256 InOrder(__m256 v) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xD8));
  }
  static FIREBRICK_INLINE __m256 FromInt8(__m128i bytes) {
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes));
  }
};

}  // namespace firebrick::avx2
