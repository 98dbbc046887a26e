// The loops of kernels/peak.h over 16 lanes. See lanes/micro.h.
#pragma once

#include "kernels/lanes/micro.h"
#include "kernels/peak.h"

namespace firebrick::lanes {

template <typename V>
struct Peak {
  using F = typename V::F;
  static constexpr int kRows = V::kMicroRows;
  static constexpr int kPairs = 16;
  static constexpr int64_t kFlopsPerBlock = int64_t{kRows} * kPairs * 2 * 16 * 2;

  // The chains of one block of 32 columns; the weight is read from memory as a kernel reads it.
  static FIREBRICK_INLINE void Chains(const float* weight, F x, F (&even)[kRows], F (&odd)[kRows]) {
#pragma GCC unroll 16
    for (int pair = 0; pair < kPairs; ++pair) {
      const F w = V::Load(weight);
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) { even[r] = V::Fma(w, x, even[r]); });
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) { odd[r] = V::Fma(w, x, odd[r]); });
    }
  }

  static int64_t Plain(int64_t iterations) {
    alignas(64) float weight[16];
    V::Store(weight, V::Set1(0.5F));
    const F x = V::Set1(0.25F);
    F even[kRows];
    F odd[kRows];
    Unroll<kRows>([&](auto r) { even[r] = odd[r] = V::Zero(); });
    for (int64_t i = 0; i < iterations; ++i) {
      Chains(weight, x, even, odd);
      __asm__ volatile("" ::: "memory");  // the weight is read anew each time
    }
    Sink(even, odd);
    return iterations * kFlopsPerBlock;
  }

  static int64_t Grouped(int64_t iterations) {
    alignas(64) float weight[16];
    alignas(64) float acc[kRows * 16] = {};
    V::Store(weight, V::Set1(0.5F));
    const F x = V::Set1(0.25F);
    F even[kRows] = {};
    F odd[kRows] = {};
    for (int64_t i = 0; i < iterations; ++i) {
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) { even[r] = odd[r] = V::Zero(); });
      Chains(weight, x, even, odd);
      const F scale = V::Load(weight);
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        V::Store(acc + r * 16, V::Fma(V::Add(even[r], odd[r]), scale, V::Load(acc + r * 16)));
      });
      __asm__ volatile("" ::"r"(acc) : "memory");  // the sums are read by somebody
    }
    Sink(even, odd);
    return iterations * kFlopsPerBlock;
  }

 private:
  static FIREBRICK_INLINE void Sink(const F (&even)[kRows], const F (&odd)[kRows]) {
    alignas(64) volatile float sink[16];
    alignas(64) float lanes[16];
    F sum = V::Zero();
    Unroll<kRows>([&](auto r) { sum = V::Add(sum, V::Add(even[r], odd[r])); });
    V::Store(lanes, sum);
    sink[0] = lanes[0];
    static_cast<void>(sink[0]);
  }
};

}  // namespace firebrick::lanes
