// The small steps of which every numeric definition is made (docs/contracts/numerics.md), in plain C++.
// Every std::fma is one rounding; nothing else is contracted. Thread: any; pure functions.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "tensor/float_bits.h"

namespace firebrick::ref {

// To the nearest BF16, ties to even, held as FP32.
inline float RoundToBf16(float value) { return Bf16ToF32(F32ToBf16(value)); }

// As the instructions MINPS and MAXPS: the second where the comparison is false.
inline float Min(float a, float b) { return a < b ? a : b; }
inline float Max(float a, float b) { return a > b ? a : b; }

// e^x: 2^n * p(r), x = n ln 2 + r. Exactly 0 below -87; the value of 88 above 88. Relative error < 2^-22.
inline float Exp(float x) {
  constexpr float kLowest = -87.0F;
  constexpr float kHighest = 88.0F;
  constexpr float kRoundToInt = 0x1.8p23F;
  const float y = Max(kLowest, Min(kHighest, x));
  const float shifted = std::fma(y, 0x1.715476p+0F, kRoundToInt);  // log2(e)
  const float n = shifted - kRoundToInt;
  float r = std::fma(n, -0x1.63p-1F, y);  // ln 2, upper bits
  r = std::fma(n, 0x1.bd0106p-13F, r);    // ln 2, minus the rest
  float p = 0x1.6d1606p-10F;
  p = std::fma(p, r, 0x1.12106cp-7F);
  p = std::fma(p, r, 0x1.555516p-5F);
  p = std::fma(p, r, 0x1.5554d8p-3F);
  p = std::fma(p, r, 0.5F);
  p = std::fma(p, r, 1.0F);
  p = std::fma(p, r, 1.0F);
  const float power = std::bit_cast<float>((std::bit_cast<uint32_t>(shifted) << 23) + 0x3F800000U);
  return x < kLowest ? 0.0F : p * power;
}

// x * sigmoid(z) with one division.
inline float TimesSigmoid(float x, float z) { return x / (1.0F + Exp(0.0F - z)); }
inline float Silu(float x) { return TimesSigmoid(x, x); }
// The tanh form of GELU: 0.5 (1 + tanh(u)) = sigmoid(2u), u = sqrt(2 / pi) (x + 0.044715 x^3).
inline float GeluTanh(float x) {
  const float cubic = std::fma(x * x, 0.044715F, 1.0F);
  return TimesSigmoid(x, x * cubic * 1.5957691216F);
}

// Sums of many values: value i goes to lane i mod 16, in order; then lanes are added as a tree.
using Lanes16 = std::array<float, 16>;
inline float SumOfLanes(Lanes16 lanes) {
  for (size_t width = 8; width >= 1; width /= 2) {
    for (size_t i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

// A pair chain: two chains of FMAs from zero, over the even and over the odd positions of a block, and their
// sum. a(i), b(i): the factors at position i; size is even.
template <typename A, typename B>
float PairChain(int64_t size, A&& a, B&& b) {
  float even = 0.0F;
  float odd = 0.0F;
  for (int64_t i = 0; i < size; i += 2) {
    even = std::fma(a(i), b(i), even);
    odd = std::fma(a(i + 1), b(i + 1), odd);
  }
  return even + odd;
}

}  // namespace firebrick::ref
