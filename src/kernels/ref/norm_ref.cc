#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {

void RmsNorm(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, const float* weight, float eps,
             float* y, int64_t ldy) {
  for (int64_t row = 0; row < num_rows; ++row) {
    const float* in = x + row * ldx;
    Lanes16 lanes{};
    for (int64_t i = 0; i < num_cols; ++i) {
      float& lane = lanes[static_cast<size_t>(i % 16)];
      lane = std::fma(in[i], in[i], lane);
    }
    const float mean = SumOfLanes(lanes) / static_cast<float>(num_cols);
    const float factor = 1.0F / std::sqrt(mean + eps);
    for (int64_t i = 0; i < num_cols; ++i) y[row * ldy + i] = in[i] * factor * weight[i];
  }
}

}  // namespace firebrick::ref
