// The reference: each operation as its definition says, in plain C++. Not fast. Signatures: kernels/ops.h.
#pragma once

#include "kernels/ops.h"

namespace firebrick::ref {

void PrepareActivation(const float* x, int64_t ldx, IndexRange rows, Activation* out);
void LinearF32(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy);
void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy);
void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy);
void LinearCodes(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                 const float* bias, float* y, int64_t ldy);
void RmsNorm(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, const float* weight, float eps,
             float* y, int64_t ldy);
void RopeHalf(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
              const float* sin);
void RopeAdjacent(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
                  const float* sin);
void SiluMul(const float* gate, const float* up, int64_t size, float* y);
void GeluTanhMul(const float* gate, const float* up, int64_t size, float* y);
void Add(const float* a, const float* b, int64_t size, float* y);
void Scale(const float* x, float factor, int64_t size, float* y);
void KvWrite(const KvWriteArgs& args);
void Attention(const AttentionArgs& args, IndexRange queries, float* scratch);
int64_t ArgMax(const float* x, int64_t size);
double SumExp(const float* x, int64_t size, float max, float factor);
void ExpShifted(const float* x, int64_t size, float max, float factor, float* y);

extern const Ops kOps;

}  // namespace firebrick::ref
