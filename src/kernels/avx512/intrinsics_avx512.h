// The AVX-512 intrinsics: the compiler's, or with FIREBRICK_SIMDE their portable emulation (Debian's
// libsimde-dev), by which the tests run this level bit for bit on machines that lack it. Included by
// avx512/*.cc only.
#pragma once

#ifndef FIREBRICK_SIMDE
#include <immintrin.h>
#else
#define SIMDE_ENABLE_NATIVE_ALIASES
#include <cstdint>
#include <cstring>

#include <simde/x86/avx512.h>
#include <simde/x86/f16c.h>

// What SIMDe 0.7.4 does not have.
namespace firebrick::simde_gaps {

template <typename To, typename From>
inline To BitsAs(const From& from) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

template <typename T, int N>
struct Array {
  T at[N];
};

template <typename Byte>
inline simde__m512i WidenBytes(simde__m128i bytes) {
  const auto in = BitsAs<Array<Byte, 16> >(bytes);
  Array<int32_t, 16> out;
  for (int i = 0; i < 16; ++i) out.at[i] = in.at[i];
  return BitsAs<simde__m512i>(out);
}
inline simde__m512 IntsToFloats(simde__m512i ints) {
  const auto in = BitsAs<Array<int32_t, 16> >(ints);
  Array<float, 16> out;
  for (int i = 0; i < 16; ++i) out.at[i] = static_cast<float>(in.at[i]);
  return BitsAs<simde__m512>(out);
}
inline simde__m256i NarrowTo16(simde__m512i ints) {
  const auto in = BitsAs<Array<uint32_t, 16> >(ints);
  Array<uint16_t, 16> out;
  for (int i = 0; i < 16; ++i) out.at[i] = static_cast<uint16_t>(in.at[i]);
  return BitsAs<simde__m256i>(out);
}
inline simde__m512 HalvesToFloats(simde__m256i halves) {
  struct Halves {
    simde__m128i low;
    simde__m128i high;
  };
  struct Floats {
    simde__m256 low;
    simde__m256 high;
  };
  const auto in = BitsAs<Halves>(halves);
  return BitsAs<simde__m512>(Floats{simde_mm256_cvtph_ps(in.low), simde_mm256_cvtph_ps(in.high)});
}

}  // namespace firebrick::simde_gaps

#define _mm512_cvtepi8_epi32 ::firebrick::simde_gaps::WidenBytes<int8_t>
#define _mm512_cvtepu8_epi32 ::firebrick::simde_gaps::WidenBytes<uint8_t>
#define _mm512_cvtepi32_ps ::firebrick::simde_gaps::IntsToFloats
#define _mm512_cvtepi32_epi16 ::firebrick::simde_gaps::NarrowTo16
#define _mm512_cvtph_ps ::firebrick::simde_gaps::HalvesToFloats
#endif
