#include "kernels/ref/ref.h"

namespace firebrick::ref {

const Ops kOps = {
    .level = IsaLevel::kRef,
    .wants_bf16 = false,
    .prepare_activation = PrepareActivation,
    .linear = {LinearF32, LinearBf16, LinearF16, LinearCodes, LinearCodes},
    .rms_norm = RmsNorm,
    .rope_half = RopeHalf,
    .rope_adjacent = RopeAdjacent,
    .silu_mul = SiluMul,
    .gelu_tanh_mul = GeluTanhMul,
    .add = Add,
    .scale = Scale,
    .kv_write = KvWrite,
    .attention = Attention,
    .argmax = ArgMax,
    .sum_exp = SumExp,
    .exp_shifted = ExpShifted,
};

}  // namespace firebrick::ref
