#include "kernels/avx512/avx512.h"
#include "kernels/avx512/lanes_avx512.h"
#include "kernels/lanes/peak.h"

namespace firebrick::FIREBRICK_AVX512_NAMESPACE {

const PeakLoops kPeakLoops = {lanes::Peak<Lanes>::Plain, lanes::Peak<Lanes>::Grouped,
                              lanes::Peak<Lanes>::Read};

}  // namespace firebrick::FIREBRICK_AVX512_NAMESPACE
