#include "kernels/rope_table.h"

#include <cmath>

namespace firebrick {
namespace {

struct SineCosine {
  double sine;
  double cosine;
};

// Taylor series on [-pi/4, pi/4], where the first term left out is below 2^-54.
SineCosine OnFirstOctants(double x) {
  const double z = x * x;
  double s = -1.0 / 1307674368000.0;
  s = std::fma(s, z, 1.0 / 6227020800.0);
  s = std::fma(s, z, -1.0 / 39916800.0);
  s = std::fma(s, z, 1.0 / 362880.0);
  s = std::fma(s, z, -1.0 / 5040.0);
  s = std::fma(s, z, 1.0 / 120.0);
  s = std::fma(s, z, -1.0 / 6.0);
  double c = 1.0 / 20922789888000.0;
  c = std::fma(c, z, -1.0 / 87178291200.0);
  c = std::fma(c, z, 1.0 / 479001600.0);
  c = std::fma(c, z, -1.0 / 3628800.0);
  c = std::fma(c, z, 1.0 / 40320.0);
  c = std::fma(c, z, -1.0 / 720.0);
  c = std::fma(c, z, 1.0 / 24.0);
  c = std::fma(c, z, -0.5);
  return {std::fma(s * z, x, x), std::fma(c, z, 1.0)};
}

SineCosine Compute(double angle) {
  constexpr double kTwoOverPi = 0.63661977236758134308;
  constexpr double kHalfPi = 1.57079632679489661923;          // pi / 2 to double
  constexpr double kHalfPiRest = 6.12323399573676588614e-17;  // what that leaves out
  constexpr double kRoundToInt = 0x1.8p52;
  const double quarter = (angle * kTwoOverPi + kRoundToInt) - kRoundToInt;
  const double x = std::fma(-quarter, kHalfPiRest, std::fma(-quarter, kHalfPi, angle));
  const SineCosine base = OnFirstOctants(x);
  switch (static_cast<int64_t>(quarter) & 3) {
    case 0:
      return base;
    case 1:
      return {base.cosine, -base.sine};
    case 2:
      return {-base.sine, -base.cosine};
    default:
      return {-base.cosine, base.sine};
  }
}

}  // namespace

void FillRopeRow(int64_t position, const float* inv_freq, int64_t num_pairs, float magnitude, float* cos_out,
                 float* sin_out) {
  const auto at = static_cast<float>(position);
  for (int64_t i = 0; i < num_pairs; ++i) {
    const SineCosine value = Compute(at * inv_freq[i]);
    cos_out[i] = static_cast<float>(value.cosine) * magnitude;
    sin_out[i] = static_cast<float>(value.sine) * magnitude;
  }
}

}  // namespace firebrick
