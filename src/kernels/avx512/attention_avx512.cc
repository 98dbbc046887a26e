#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes_avx512.h"
#include "kernels/lanes/attention.h"

namespace firebrick::FIREBRICK_AVX512_NAMESPACE {

void Attention(const AttentionArgs& args, IndexRange queries, float* scratch) {
  lanes::AttentionKernel<Lanes>::Attention(args, queries, scratch);
}

}  // namespace firebrick::FIREBRICK_AVX512_NAMESPACE
