// The innermost loops that all vector levels share: the order of the numeric definitions, written once over a
// type V of 16 float lanes (avx2/lanes_avx2.h, avx512/lanes_avx512.h). Everything here is a template over V,
// so that no code compiled for a higher level can be linked in place of that for a lower one.
#pragma once

#include <cstdint>
#include <utility>

#define FIREBRICK_INLINE __attribute__((always_inline)) inline

namespace firebrick::lanes {

// fn(integral_constant 0), ..., fn(integral_constant N - 1), written out: arrays stay in registers.
template <int N, typename Fn>
FIREBRICK_INLINE void Unroll(Fn&& fn) {
  [&]<int... kIndex>(std::integer_sequence<int, kIndex...>) __attribute__((always_inline)) {
    (fn(std::integral_constant<int, kIndex>{}), ...);
  }
  (std::make_integer_sequence<int, N>{});
}

// Pair chains of R rows of x against 16 columns: over 2 * num_pairs positions k, w at w + k * ldw, x at
// x + r * ldx + k. dot[r] = even chain + odd chain.
template <typename V, int R>
FIREBRICK_INLINE void PairChains(const float* w, int64_t ldw, int64_t num_pairs, const float* x, int64_t ldx,
                                 typename V::F (&dot)[R]) {
  using F = typename V::F;
  F even[R];
  F odd[R];
  Unroll<R>([&](auto r) __attribute__((always_inline)) { even[r] = odd[r] = V::Zero(); });
#pragma GCC unroll 4
  for (int64_t j = 0; j < num_pairs; ++j) {
    const F w_even = V::Load(w + 2 * j * ldw);
    Unroll<R>([&](auto r) __attribute__((always_inline)) {
      even[r] = V::Fma(w_even, V::Set1(x[r * ldx + 2 * j]), even[r]);
    });
    const F w_odd = V::Load(w + (2 * j + 1) * ldw);
    Unroll<R>([&](auto r) __attribute__((always_inline)) {
      odd[r] = V::Fma(w_odd, V::Set1(x[r * ldx + 2 * j + 1]), odd[r]);
    });
  }
  Unroll<R>([&](auto r) __attribute__((always_inline)) { dot[r] = V::Add(even[r], odd[r]); });
}

// Covers [0, num_rows) by calls of fn(integral_constant R, first_row), R as large as fits of kMost, kMost /
// 2, ... 1.
template <int kMost, typename Fn>
FIREBRICK_INLINE void ForRowGroups(int64_t num_rows, Fn&& fn, int64_t row = 0) {
  for (; row + kMost <= num_rows; row += kMost) fn(std::integral_constant<int, kMost>{}, row);
  if constexpr (kMost > 1) ForRowGroups<kMost / 2>(num_rows, fn, row);
}

// fn(integral_constant num_rows), for 1 <= num_rows <= kMost.
template <int kMost, typename Fn>
FIREBRICK_INLINE void WithRowCount(int64_t num_rows, Fn&& fn) {
  if constexpr (kMost > 1) {
    if (num_rows < kMost) return WithRowCount<kMost - 1>(num_rows, fn);
  }
  fn(std::integral_constant<int, kMost>{});
}

// e^x, as kernels/ref/definition.h defines it.
template <typename V>
FIREBRICK_INLINE typename V::F Exp(typename V::F x) {
  using F = typename V::F;
  const F lowest = V::Set1(-87.0F);
  const F round_to_int = V::Set1(0x1.8p23F);
  const F y = V::Max(lowest, V::Min(V::Set1(88.0F), x));
  const F shifted = V::Fma(y, V::Set1(0x1.715476p+0F), round_to_int);
  const F n = V::Sub(shifted, round_to_int);
  F r = V::Fma(n, V::Set1(-0x1.63p-1F), y);
  r = V::Fma(n, V::Set1(0x1.bd0106p-13F), r);
  F p = V::Set1(0x1.6d1606p-10F);
  p = V::Fma(p, r, V::Set1(0x1.12106cp-7F));
  p = V::Fma(p, r, V::Set1(0x1.555516p-5F));
  p = V::Fma(p, r, V::Set1(0x1.5554d8p-3F));
  p = V::Fma(p, r, V::Set1(0.5F));
  p = V::Fma(p, r, V::Set1(1.0F));
  p = V::Fma(p, r, V::Set1(1.0F));
  return V::ZeroWhereLess(V::Mul(p, V::PowerOfTwo(shifted)), x, lowest);
}

// Calls fn(begin, count) for 16 values at a time; count < 16 for the last of them.
template <typename Fn>
FIREBRICK_INLINE void ForSpans(int64_t size, Fn&& fn) {
  int64_t begin = 0;
  for (; begin + 16 <= size; begin += 16) fn(begin, std::integral_constant<int64_t, 16>{});
  if (begin < size) fn(begin, size - begin);
}

// 16 values, zeros behind the first `count`.
template <typename V, typename Count>
FIREBRICK_INLINE typename V::F LoadSpan(const float* x, Count count) {
  if constexpr (!std::is_same_v<Count, int64_t>) {
    return V::Load(x);
  } else {
    alignas(64) float lanes[16] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i] = x[i];
    return V::Load(lanes);
  }
}

template <typename V, typename Count>
FIREBRICK_INLINE void StoreSpan(float* y, Count count, typename V::F value) {
  if constexpr (!std::is_same_v<Count, int64_t>) {
    V::Store(y, value);
  } else {
    alignas(64) float lanes[16];
    V::Store(lanes, value);
    for (int64_t i = 0; i < count; ++i) y[i] = lanes[i];
  }
}

// Lane i + lane i + 8, then + 4, + 2, + 1.
template <typename V>
FIREBRICK_INLINE float SumOfLanes(typename V::F value) {
  alignas(64) float lanes[16];
  V::Store(lanes, value);
  for (int width = 8; width >= 1; width /= 2) {
    for (int i = 0; i < width; ++i) lanes[i] += lanes[i + width];
  }
  return lanes[0];
}

}  // namespace firebrick::lanes
