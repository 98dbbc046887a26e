#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {
namespace {

void Rotate(float cos, float sin, float* a, float* b) {
  const float x = *a;
  const float y = *b;
  *a = std::fma(x, cos, -(y * sin));
  *b = std::fma(y, cos, x * sin);
}

}  // namespace

void RopeHalf(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
              const float* sin) {
  for (int64_t head = 0; head < num_heads; ++head) {
    float* x = heads + head * head_dim;
    for (int64_t i = 0; i < num_pairs; ++i) Rotate(cos[i], sin[i], x + i, x + i + num_pairs);
  }
}

void RopeAdjacent(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
                  const float* sin) {
  for (int64_t head = 0; head < num_heads; ++head) {
    float* x = heads + head * head_dim;
    for (int64_t i = 0; i < num_pairs; ++i) Rotate(cos[i], sin[i], x + 2 * i, x + 2 * i + 1);
  }
}

}  // namespace firebrick::ref
