// The loops of kernels/peak.h over 16 lanes. See lanes/micro.h.
#pragma once

#include "kernels/lanes/micro.h"
#include "kernels/peak.h"

namespace firebrick::lanes {

template <typename V>
struct Peak {
  using F = typename V::F;
  static constexpr int kRows = V::kMicroRows;
  static constexpr int kPanels = V::kMicroPanels;
  static constexpr int kPairs = 16;
  static constexpr int64_t kFlopsPerBlock = int64_t{kRows} * kPanels * kPairs * 2 * 16 * 2;

  // Operands in the first-level cache, read as a kernel reads them; opaque, so that no two chains look alike.
  struct Operands {
    alignas(64) float weights[2 * kPanels * 16];
    alignas(64) float scales[kPanels * 16];
    alignas(64) float x[2 * kRows];
    alignas(64) float sums[kRows * kPanels * 16] = {};
    Operands() {
      for (float& weight : weights) weight = 0.5F;
      for (float& scale : scales) scale = 0.125F;
      for (float& value : x) value = 0.25F;
      Hide();
    }
    FIREBRICK_INLINE void Hide() { __asm__ volatile("" ::"r"(this) : "memory"); }
  };

  // The chains of one block of 32 columns. Each pair reads its operands anew, as from other columns.
  static FIREBRICK_INLINE void Chains(Operands& in, F (&even)[kRows][kPanels], F (&odd)[kRows][kPanels]) {
#pragma GCC unroll 16
    for (int pair = 0; pair < kPairs; ++pair) {
      Half(in, 0, even);
      Half(in, 1, odd);
      in.Hide();
    }
  }

  static int64_t Plain(int64_t iterations) {
    Operands in;
    F even[kRows][kPanels] = {};
    F odd[kRows][kPanels] = {};
    for (int64_t i = 0; i < iterations; ++i) {
      Chains(in, even, odd);
    }
    alignas(64) volatile float sink[16];
    alignas(64) float lanes[16];
    F sum = V::Zero();
    Unroll<kRows>(
        [&](auto r) { Unroll<kPanels>([&](auto p) { sum = V::Add(sum, V::Add(even[r][p], odd[r][p])); }); });
    V::Store(lanes, sum);
    sink[0] = lanes[0];
    static_cast<void>(sink[0]);
    return iterations * kFlopsPerBlock;
  }

  // Only the chains' operations are counted, not those that add and scale.
  static int64_t Grouped(int64_t iterations) {
    Operands in;
    for (int64_t i = 0; i < iterations; ++i) {
      F even[kRows][kPanels] = {};
      F odd[kRows][kPanels] = {};
      Chains(in, even, odd);
      Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
        Unroll<kPanels>([&](auto p) __attribute__((always_inline)) {
          float* sum = in.sums + (r * kPanels + p) * 16;
          V::Store(sum, V::Fma(V::Add(even[r][p], odd[r][p]), V::Load(in.scales + p * 16), V::Load(sum)));
        });
      });
    }
    return iterations * kFlopsPerBlock;
  }

  static float Read(const float* data, int64_t size) {
    constexpr int kSums = 8;
    F sums[kSums] = {};
    for (int64_t i = 0; i < size; i += kSums * 16) {
      Unroll<kSums>([&](auto k) { sums[k] = V::Add(sums[k], V::Load(data + i + k * 16)); });
    }
    Unroll<kSums - 1>([&](auto k) { sums[0] = V::Add(sums[0], sums[k + 1]); });
    return SumOfLanes<V>(sums[0]);
  }

 private:
  static FIREBRICK_INLINE void Half(const Operands& in, int half, F (&chain)[kRows][kPanels]) {
    F w[kPanels];
    Unroll<kPanels>([&](auto p)
                        __attribute__((always_inline)) { w[p] = V::Load(in.weights + (2 * p + half) * 16); });
    Unroll<kRows>([&](auto r) __attribute__((always_inline)) {
      const F x = V::Set1(in.x[2 * r + half]);
      Unroll<kPanels>([&](auto p)
                          __attribute__((always_inline)) { chain[r][p] = V::Fma(w[p], x, chain[r][p]); });
    });
  }
};

}  // namespace firebrick::lanes
