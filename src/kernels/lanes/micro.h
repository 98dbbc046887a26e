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

// Pair chains of R rows of x against P panels of 16 columns, over 2 * num_pairs positions k: dot[r][p] = even
// chain + odd chain. x: row r at x + r * ldx. load(integral_constant p, pair, even, odd) gives a panel's
// values at the two positions of a pair.
template <typename V, int R, int P, typename Load>
FIREBRICK_INLINE void PairChains(int64_t num_pairs, const float* x, int64_t ldx, typename V::F (&dot)[R][P],
                                 Load&& load) {
  using F = typename V::F;
  F odd[R][P];
  Unroll<R>([&](auto r) __attribute__((always_inline)) {
    Unroll<P>([&](auto p) __attribute__((always_inline)) { dot[r][p] = odd[r][p] = V::Zero(); });
  });
#pragma GCC unroll 2
  for (int64_t j = 0; j < num_pairs; ++j) {
    F w_even[P];
    F w_odd[P];
    Unroll<P>([&](auto p) __attribute__((always_inline)) { load(p, j, w_even[p], w_odd[p]); });
    Unroll<R>([&](auto r) __attribute__((always_inline)) {
      const F x_even = V::Set1(x[r * ldx + 2 * j]);
      Unroll<P>([&](auto p)
                    __attribute__((always_inline)) { dot[r][p] = V::Fma(w_even[p], x_even, dot[r][p]); });
      const F x_odd = V::Set1(x[r * ldx + 2 * j + 1]);
      Unroll<P>([&](auto p)
                    __attribute__((always_inline)) { odd[r][p] = V::Fma(w_odd[p], x_odd, odd[r][p]); });
    });
  }
  Unroll<R>([&](auto r) __attribute__((always_inline)) {
    Unroll<P>([&](auto p) __attribute__((always_inline)) { dot[r][p] = V::Add(dot[r][p], odd[r][p]); });
  });
}

// The load of PairChains that reads panels expanded to FP32: panel p at panels[p], [positions][16].
template <typename V, int P>
struct ExpandedPanels {
  using F = typename V::F;
  float* const (&panels)[P];
  template <typename Index>
  FIREBRICK_INLINE void operator()(Index p, int64_t pair, F& even, F& odd) const {
    even = V::Load(panels[p] + 2 * pair * 16);
    odd = V::Load(panels[p] + (2 * pair + 1) * 16);
  }
};

// fn(integral_constant num_rows), for kLeast <= num_rows <= kMost.
template <int kLeast, int kMost, typename Fn>
FIREBRICK_INLINE void WithRowCount(int64_t num_rows, Fn&& fn) {
  if constexpr (kMost > kLeast) {
    if (num_rows < kMost) return WithRowCount<kLeast, kMost - 1>(num_rows, fn);
  }
  fn(std::integral_constant<int, kMost>{});
}

// Covers [0, num_rows) by calls of fn(integral_constant R, first_row) of nearly equal R, kLeast <= R <=
// kMost. Of more than kMost rows none is below half of it.
template <int kLeast, int kMost, typename Fn>
FIREBRICK_INLINE void ForEvenRowGroups(int64_t num_rows, Fn&& fn) {
  const int64_t num_groups = (num_rows + kMost - 1) / kMost;
  for (int64_t group = 0, row = 0; group < num_groups; ++group) {
    const int64_t count = (num_rows - row) / (num_groups - group);
    WithRowCount<kLeast, kMost>(count, [&](auto rows) { fn(rows, row); });
    row += count;
  }
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
