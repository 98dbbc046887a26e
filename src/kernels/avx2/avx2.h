// The kernels of the level AVX2 (with FMA and F16C): x86-64-v3. Signatures: kernels/ops.h.
#pragma once

#include "kernels/ops.h"
#include "kernels/peak.h"

namespace firebrick::avx2 {

void LinearF32(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy);
void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy);
void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy);
void LinearCodes8(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy);
void LinearCodes4(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy);
void Attention(const AttentionArgs& args, IndexRange queries, float* scratch);
extern const Ops kOps;
extern const PeakLoops kPeakLoops;

}  // namespace firebrick::avx2
