// FlushDenormals: sets FTZ and DAZ of the calling thread, and puts back what was there when it leaves scope.
// The numeric definitions (docs/contracts/numerics.md) hold only in this mode: the tile units know no other.
// Thread: the state is of the thread that made the object.
#pragma once

#include <cstdint>

#include <xmmintrin.h>

namespace firebrick {

class FlushDenormals {
 public:
  FlushDenormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
  FlushDenormals(const FlushDenormals&) = delete;
  FlushDenormals& operator=(const FlushDenormals&) = delete;

 private:
  static constexpr uint32_t kFlushToZero = 0x8000;
  static constexpr uint32_t kDenormalsAreZero = 0x0040;
  uint32_t saved_;
};

}  // namespace firebrick
