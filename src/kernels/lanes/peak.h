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

  // Operands in the first-level cache, read as a kernel reads them; opaque, so that no two chains look alike.
  struct Operands {
    alignas(64) float weights[2 * 16];
    alignas(64) float x[2 * kRows];
    Operands() {
      for (float& weight : weights) weight = 0.5F;
      for (float& value : x) value = 0.25F;
      Hide();
    }
    FIREBRICK_INLINE void Hide() { __asm__ volatile("" ::"r"(this) : "memory"); }
  };

  // The chains of one block of 32 columns.
  static FIREBRICK_INLINE void Chains(const Operands& in, F (&even)[kRows], F (&odd)[kRows]) {
#pragma GCC unroll 16
    for (int pair = 0; pair < kPairs; ++pair) {
      const F w_even = V::Load(in.weights);
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        even[r] = V::Fma(w_even, V::Set1(in.x[2 * r]), even[r]);
      });
      const F w_odd = V::Load(in.weights + 16);
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        odd[r] = V::Fma(w_odd, V::Set1(in.x[2 * r + 1]), odd[r]);
      });
    }
  }

  static int64_t Plain(int64_t iterations) {
    Operands in;
    F even[kRows] = {};
    F odd[kRows] = {};
    for (int64_t i = 0; i < iterations; ++i) {
      Chains(in, even, odd);
      in.Hide();
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
