// Ops: the arithmetic of a forward pass, as a table of functions per level of the instruction set. All levels
// compute the same bits (docs/contracts/numerics.md); kernels/ref is the definition in plain C++.
//
// Each function works on a slice, so that the caller's ThreadPool may split the work in any way without
// altering a bit. They expect FTZ and DAZ to be set (the pool sets them; elsewhere device/fp_mode.h),
// allocate nothing and take no lock. Rows are row-major floats; ld* is the distance of rows in floats. Inputs
// and outputs may not overlap except where a function says "in place". Thread: any; the tables are constants.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "device/thread_pool.h"
#include "kernels/activation.h"
#include "kernels/attention.h"
#include "kernels/isa.h"
#include "kernels/packed_linear.h"

namespace firebrick {

// y[r][o] = x[r] . W[o] + bias[o] for the given rows and panels (outputs [16 * panel, 16 * panel + 16)).
// bias: [num_outputs] or nullptr.
using LinearFn = void (*)(const PackedLinear& weights, const Activation& x, IndexRange rows,
                          IndexRange panels, const float* bias, float* y, int64_t ldy);

struct Ops {
  IsaLevel level = IsaLevel::kRef;
  bool wants_bf16 = false;  // its linear kernels read Activation::bf16

  // Fills rows [rows.begin, rows.end) of `out` (already reshaped) from x: row r at x + r * ldx.
  void (*prepare_activation)(const float* x, int64_t ldx, IndexRange rows, Activation* out);
  // By PackedLinear::packing(). Call them through Linear() below.
  std::array<LinearFn, kNumPackings> linear;

  // y[r] = x[r] / sqrt(mean(x[r]^2) + eps) * weight. In place allowed. weight: [num_cols].
  void (*rms_norm)(const float* x, int64_t ldx, int64_t num_rows, int64_t num_cols, const float* weight,
                   float eps, float* y, int64_t ldy);
  // Rotates the first 2 * num_pairs values of each of num_heads heads (head_dim apart) of one token, in
  // place. cos, sin: [num_pairs], of this token's position (kernels/rope_table.h). rope_half: pairs (i, i +
  // num_pairs); rope_adjacent: pairs (2i, 2i + 1).
  void (*rope_half)(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs, const float* cos,
                    const float* sin);
  void (*rope_adjacent)(float* heads, int64_t num_heads, int64_t head_dim, int64_t num_pairs,
                        const float* cos, const float* sin);
  // y[i] = act(gate[i]) * up[i]. In place on gate or up allowed.
  void (*silu_mul)(const float* gate, const float* up, int64_t size, float* y);
  void (*gelu_tanh_mul)(const float* gate, const float* up, int64_t size, float* y);
  // y[i] = a[i] + b[i] and y[i] = x[i] * factor. In place allowed.
  void (*add)(const float* a, const float* b, int64_t size, float* y);
  void (*scale)(const float* x, float factor, int64_t size, float* y);

  // Writes keys and values to their pages, rounded to the pages' type.
  void (*kv_write)(const KvWriteArgs& args);
  // Queries [queries.begin, queries.end), all heads of the group. scratch: AttentionScratchFloats(head_dim).
  void (*attention)(const AttentionArgs& args, IndexRange queries, float* scratch);

  // Sampling. NaN is never the greatest; of equals the lowest index wins; size >= 1.
  int64_t (*argmax)(const float* x, int64_t size);
  // Sum over i of exp((x[i] - max) * factor): by chunks of 4096 elements, in order.
  double (*sum_exp)(const float* x, int64_t size, float max, float factor);
  // y[i] = exp((x[i] - max) * factor). In place allowed.
  void (*exp_shifted)(const float* x, int64_t size, float max, float factor, float* y);
};

inline void Linear(const Ops& ops, const PackedLinear& weights, const Activation& x, IndexRange rows,
                   IndexRange panels, const float* bias, float* y, int64_t ldy) {
  ops.linear[static_cast<size_t>(weights.packing())](weights, x, rows, panels, bias, y, ldy);
}

// The needs of `weights`, as `ops` reads them.
inline ActivationNeeds NeedsOf(const Ops& ops, const PackedLinear& weights) {
  ActivationNeeds needs = weights.needs();
  needs.bf16 = needs.rounded && ops.wants_bf16;
  return needs;
}

// Natural logarithm for logsumexp = max + LogOfSum(sum_exp(...)): our own, the same bits on every machine.
// value: positive, finite, normal.
double LogOfSum(double value);

// The table of a level; nullptr where this CPU lacks the level or has no table for it.
const Ops* FindOps(IsaLevel level);
// The highest level that this CPU can run, short of kAmx.
const Ops& BestOps();
// Levels that FindOps knows on this CPU, ascending.
std::vector<IsaLevel> AvailableLevels();

}  // namespace firebrick
