// What a level's arithmetic units can do: loops of nothing but the operations of the numeric definitions, on
// registers; and what its loads can do. Benches divide a kernel's rate by theirs. Thread: any; run one per
// thread at once for a machine's peak.
#pragma once

#include <cstdint>

#include "kernels/isa.h"

namespace firebrick {

struct PeakLoops {
  // Multiply-adds of plain formats. Returns the floating-point operations done (a multiply-add is two).
  int64_t (*plain)(int64_t iterations) = nullptr;
  // The same with what integer codes need besides: per group of 32 the chains' sum and its scaling.
  int64_t (*grouped)(int64_t iterations) = nullptr;
  // Reads `size` floats, a multiple of 128, as a kernel streams weights. Returns their sum.
  float (*read)(const float* data, int64_t size) = nullptr;
};

// nullptr where this CPU lacks the level; the reference has none.
const PeakLoops* FindPeakLoops(IsaLevel level);

}  // namespace firebrick
