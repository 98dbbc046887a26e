// The kernels of the level AVX-512 (F, BW, DQ, VL). Signatures: kernels/ops.h.
#pragma once

#include "kernels/ops.h"
#include "kernels/peak.h"

// The tests compile these files a second time, over a portable emulation of the instructions, under another
// name.
#ifndef FIREBRICK_AVX512_NAMESPACE
#define FIREBRICK_AVX512_NAMESPACE avx512
#endif

namespace firebrick::FIREBRICK_AVX512_NAMESPACE {

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

}  // namespace firebrick::FIREBRICK_AVX512_NAMESPACE
