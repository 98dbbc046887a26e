#include "kernels/amx/amx.h"

namespace firebrick::FIREBRICK_AMX_NAMESPACE {

const Ops& Table() {
  static const Ops kTable = [] {
    Ops ops = FIREBRICK_AVX512_NAMESPACE::kOps;
    ops.level = IsaLevel::kAmx;
    ops.wants_bf16 = true;
    ops.linear = {FIREBRICK_AVX512_NAMESPACE::LinearF32, LinearBf16, LinearF16, LinearCodes8, LinearCodes4};
    ops.attention = Attention;
    return ops;
  }();
  return kTable;
}

}  // namespace firebrick::FIREBRICK_AMX_NAMESPACE
