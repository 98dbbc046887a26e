// Norm, rope, activations, sampling sums and the preparation of activations over 16 lanes. See lanes/micro.h.
#pragma once

#include <cmath>

#include "kernels/activation.h"
#include "kernels/lanes/micro.h"
#include "kernels/ops.h"

namespace firebrick::lanes {

// Functions of one level, as the members of Ops want them.
template <typename V>
struct Elementwise {
  using F = typename V::F;

  static F TimesSigmoid(F x, F z) { return V::Div(x, V::Add(V::Set1(1.0F), Exp<V>(V::Sub(V::Zero(), z)))); }

  static void SiluMul(const float* gate, const float* up, int64_t size, float* y) {
    ForSpans(size, [&](int64_t i, auto count) {
      const F x = LoadSpan<V>(gate + i, count);
      StoreSpan<V>(y + i, count, V::Mul(TimesSigmoid(x, x), LoadSpan<V>(up + i, count)));
    });
  }

  static void GeluTanhMul(const float* gate, const float* up, int64_t size, float* y) {
    ForSpans(size, [&](int64_t i, auto count) {
      const F x = LoadSpan<V>(gate + i, count);
      const F cubic = V::Fma(V::Mul(x, x), V::Set1(0.044715F), V::Set1(1.0F));
      const F z = V::Mul(V::Mul(x, cubic), V::Set1(1.5957691216F));
      StoreSpan<V>(y + i, count, V::Mul(TimesSigmoid(x, z), LoadSpan<V>(up + i, count)));
    });
  }

  static void Add(const float* a, const float* b, int64_t size, float* y) {
    ForSpans(size, [&](int64_t i, auto count) {
      StoreSpan<V>(y + i, count, V::Add(LoadSpan<V>(a + i, count), LoadSpan<V>(b + i, count)));
    });
  }

  static void Scale(const float* x, float factor, int64_t size, float* y) {
    ForSpans(size, [&](int64_t i, auto count) {
      StoreSpan<V>(y + i, count, V::Mul(LoadSpan<V>(x + i, count), V::Set1(factor)));
    });
  }

  static void RmsNorm(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, const float* weight,
                      float eps, float* y, int64_t ldy) {
    for (int64_t row = 0; row < num_rows; ++row) {
      const float* in = x + row * ldx;
      float* out = y + row * ldy;
      F squares = V::Zero();
      ForSpans(num_cols, [&](int64_t i, auto count) {
        const F value = LoadSpan<V>(in + i, count);
        squares = V::Fma(value, value, squares);
      });
      const float mean = SumOfLanes<V>(squares) / static_cast<float>(num_cols);
      const F factor = V::Set1(1.0F / __builtin_sqrtf(mean + eps));
      ForSpans(num_cols, [&](int64_t i, auto count) {
        const F scaled = V::Mul(LoadSpan<V>(in + i, count), factor);
        StoreSpan<V>(out + i, count, V::Mul(scaled, LoadSpan<V>(weight + i, count)));
      });
    }
  }

  static void RopeHalf(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
                       const float* sin) {
    for (int64_t head = 0; head < num_heads; ++head) {
      float* first = heads + head * head_dim;
      float* second = first + num_pairs;
      ForSpans(num_pairs, [&](int64_t i, auto count) {
        const F c = LoadSpan<V>(cos + i, count);
        const F s = LoadSpan<V>(sin + i, count);
        const F x = LoadSpan<V>(first + i, count);
        const F z = LoadSpan<V>(second + i, count);
        StoreSpan<V>(first + i, count, V::FmaMinus(x, c, V::Mul(z, s)));
        StoreSpan<V>(second + i, count, V::Fma(z, c, V::Mul(x, s)));
      });
    }
  }

  static void RopeAdjacent(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs,
                           const float* cos, const float* sin) {
    for (int64_t head = 0; head < num_heads; ++head) {
      float* x = heads + head * head_dim;
      for (int64_t i = 0; i < num_pairs; ++i) {
        const float a = x[2 * i];
        const float b = x[2 * i + 1];
        x[2 * i] = __builtin_fmaf(a, cos[i], -(b * sin[i]));
        x[2 * i + 1] = __builtin_fmaf(b, cos[i], a * sin[i]);
      }
    }
  }

  static F ShiftedExp(F x, F max, F factor) { return Exp<V>(V::Mul(V::Sub(x, max), factor)); }

  static void ExpShifted(const float* x, int64_t size, float max, float factor, float* y) {
    ForSpans(size, [&](int64_t i, auto count) {
      StoreSpan<V>(y + i, count, ShiftedExp(LoadSpan<V>(x + i, count), V::Set1(max), V::Set1(factor)));
    });
  }

  static double SumExp(const float* x, int64_t size, float max, float factor) {
    constexpr int64_t kChunk = 4096;
    double total = 0.0;
    for (int64_t begin = 0; begin < size; begin += kChunk) {
      F sum = V::Zero();
      ForSpans(begin + kChunk < size ? kChunk : size - begin, [&](int64_t i, auto count) {
        const F e = ShiftedExp(LoadSpan<V>(x + begin + i, count), V::Set1(max), V::Set1(factor));
        sum = V::Add(sum, V::KeepLanes(e, 0, static_cast<int>(count), V::Zero()));
      });
      total += static_cast<double>(SumOfLanes<V>(sum));
    }
    return total;
  }

  // The greatest value first, by lanes; then the first index that holds it.
  static int64_t ArgMax(const float* x, int64_t size) {
    const float lowest = -__builtin_inff();
    F greatest = V::Set1(lowest);
    ForSpans(size, [&](int64_t i, auto count) {
      const F value = V::KeepLanes(LoadSpan<V>(x + i, count), 0, static_cast<int>(count), V::Set1(lowest));
      greatest = V::Max(value, greatest);  // a NaN compares false, so that the second operand stays
    });
    alignas(64) float lanes[16];
    V::Store(lanes, greatest);
    float best = lowest;
    for (const float lane : lanes) best = lane > best ? lane : best;
    if (best == lowest) return 0;
    int64_t i = 0;
    while (x[i] != best) ++i;
    return i;
  }

  // The pair chain of weights 1 over `group` values.
  static float GroupSum(const float* values, int64_t group) {
    float even = 0.0F;
    float odd = 0.0F;
    for (int64_t i = 0; i < group; i += 2) {
      even = __builtin_fmaf(values[i], 1.0F, even);
      odd = __builtin_fmaf(values[i + 1], 1.0F, odd);
    }
    return even + odd;
  }

  static void PrepareActivation(const float* x, int64_t ldx, IndexRange rows, Activation* out) {
    const ActivationNeeds needs = out->needs();
    const int64_t padded = out->padded_cols();
    for (int64_t row = rows.begin; row < rows.end; ++row) {
      const float* in = x + row * ldx;
      for (int64_t k = 0; k < padded; k += 16) {
        const int64_t left = out->num_cols() - k;
        const F value = left >= 16 ? V::Load(in + k) : LoadSpan<V>(in + k, left > 0 ? left : int64_t{0});
        if (needs.exact) V::Store(out->exact(row) + k, value);
        if (needs.rounded) V::Store(out->rounded(row) + k, V::RoundToBf16(value));
        if (needs.bf16)
          V::StoreBf16(out->bf16(row, k / kLinearBlock) + k % kLinearBlock, V::RoundToBf16(value));
      }
      for (int64_t group = 16; group <= 32; group += 16) {
        if (!(group == 16 ? needs.sums16 : needs.sums32)) continue;
        float* sums = out->sums(row, group);
        for (int64_t g = 0; g < padded / group; ++g) sums[g] = GroupSum(out->rounded(row) + g * group, group);
      }
    }
  }
};

}  // namespace firebrick::lanes
