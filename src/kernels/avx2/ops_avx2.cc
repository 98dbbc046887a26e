#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes_avx2.h"
#include "kernels/lanes/attention.h"
#include "kernels/lanes/elementwise.h"

namespace firebrick::avx2 {

using Elementwise = lanes::Elementwise<Lanes>;

const Ops kOps = {
    .level = IsaLevel::kAvx2,
    .wants_bf16 = false,
    .prepare_activation = Elementwise::PrepareActivation,
    .linear = {LinearF32, LinearBf16, LinearF16, LinearCodes8, LinearCodes4},
    .rms_norm = Elementwise::RmsNorm,
    .rope_half = Elementwise::RopeHalf,
    .rope_adjacent = Elementwise::RopeAdjacent,
    .silu_mul = Elementwise::SiluMul,
    .gelu_tanh_mul = Elementwise::GeluTanhMul,
    .add = Elementwise::Add,
    .scale = Elementwise::Scale,
    .kv_write = lanes::AttentionKernel<Lanes>::KvWrite,
    .attention = Attention,
    .argmax = Elementwise::ArgMax,
    .sum_exp = Elementwise::SumExp,
    .exp_shifted = Elementwise::ExpShifted,
};

}  // namespace firebrick::avx2
