#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {

void SiluMul(const float* gate, const float* up, int64_t size, float* y) {
  for (int64_t i = 0; i < size; ++i) y[i] = Silu(gate[i]) * up[i];
}

void GeluTanhMul(const float* gate, const float* up, int64_t size, float* y) {
  for (int64_t i = 0; i < size; ++i) y[i] = GeluTanh(gate[i]) * up[i];
}

void Add(const float* a, const float* b, int64_t size, float* y) {
  for (int64_t i = 0; i < size; ++i) y[i] = a[i] + b[i];
}

void Scale(const float* x, float factor, int64_t size, float* y) {
  for (int64_t i = 0; i < size; ++i) y[i] = x[i] * factor;
}

}  // namespace firebrick::ref
