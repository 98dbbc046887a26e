#include "kernels/avx2/avx2.h"
#include "kernels/avx2/lanes_avx2.h"
#include "kernels/lanes/peak.h"

namespace firebrick::avx2 {

const PeakLoops kPeakLoops = {lanes::Peak<Lanes>::Plain, lanes::Peak<Lanes>::Grouped,
                              lanes::Peak<Lanes>::Read};

}  // namespace firebrick::avx2
