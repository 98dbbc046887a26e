// The kernels of the level AMX: tile units for BF16 (AMX-TILE, AMX-BF16), AVX-512 for the rest. Signatures:
// kernels/ops.h.
#pragma once

#include "kernels/avx512/avx512.h"
#include "kernels/ops.h"
#include "kernels/peak.h"

// The tests compile these files a second time over emulated instructions, under another name.
#ifndef FIREBRICK_AMX_NAMESPACE
#define FIREBRICK_AMX_NAMESPACE amx
#endif

namespace firebrick::FIREBRICK_AMX_NAMESPACE {

void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy);
void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy);
void LinearCodes8(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy);
void LinearCodes4(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy);
void Attention(const AttentionArgs& args, IndexRange queries, float* scratch);
// A function, not a constant: it starts from the table of AVX-512.
const Ops& Table();
extern const PeakLoops kPeakLoops;

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
