#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes_avx2.h"
#include "kernels/lanes/linear.h"

namespace firebrick::avx2 {

using Kernels = lanes::LinearKernels<Lanes>;

void LinearF32(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  Kernels::F32(weights, x, rows, panels, bias, y, ldy);
}

void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy) {
  Kernels::Bf16(weights, x, rows, panels, bias, y, ldy);
}

void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  Kernels::F16(weights, x, rows, panels, bias, y, ldy);
}

void LinearCodes8(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
  Kernels::Codes<8>(weights, x, rows, panels, bias, y, ldy);
}

void LinearCodes4(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy) {
  Kernels::Codes<4>(weights, x, rows, panels, bias, y, ldy);
}

}  // namespace firebrick::avx2
