#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes_avx2.h"
#include "kernels/lanes/attention.h"

namespace firebrick::avx2 {

void Attention(const AttentionArgs& args, IndexRange queries, float* scratch) {
  lanes::AttentionKernel<Lanes>::Attention(args, queries, scratch);
}

}  // namespace firebrick::avx2
