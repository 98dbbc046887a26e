#include <algorithm>
#include <limits>

#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {

int64_t ArgMax(const float* x, int64_t size) {
  int64_t best = 0;
  float greatest = -std::numeric_limits<float>::infinity();
  for (int64_t i = 0; i < size; ++i) {
    if (x[i] > greatest) {
      greatest = x[i];
      best = i;
    }
  }
  return best;
}

double SumExp(const float* x, int64_t size, float max, float factor) {
  constexpr int64_t kChunk = 4096;
  double total = 0.0;
  for (int64_t begin = 0; begin < size; begin += kChunk) {
    Lanes16 lanes{};
    for (int64_t i = begin; i < std::min(size, begin + kChunk); ++i) {
      lanes[static_cast<size_t>(i % 16)] += Exp((x[i] - max) * factor);
    }
    total += static_cast<double>(SumOfLanes(lanes));
  }
  return total;
}

void ExpShifted(const float* x, int64_t size, float max, float factor, float* y) {
  for (int64_t i = 0; i < size; ++i) y[i] = Exp((x[i] - max) * factor);
}

}  // namespace firebrick::ref
