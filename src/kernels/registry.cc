// Which table of kernels belongs to which level.
#include <bit>
#include <cmath>

#include "kernels/amx/amx.h"
#include "kernels/avx2/avx2.h"
#include "kernels/avx512/avx512.h"
#include "kernels/ops.h"
#include "kernels/peak.h"
#include "kernels/ref/ref.h"

namespace firebrick {
namespace {

const Ops* TableOf(IsaLevel level) {
  switch (level) {
    case IsaLevel::kRef:
      return &ref::kOps;
    case IsaLevel::kAvx2:
      return &avx2::kOps;
    case IsaLevel::kAvx512:
      return &avx512::kOps;
    case IsaLevel::kAmx:
      return &amx::Table();
  }
  return nullptr;
}

const PeakLoops* PeakLoopsOf(IsaLevel level) {
  switch (level) {
    case IsaLevel::kRef:
      return nullptr;
    case IsaLevel::kAvx2:
      return &avx2::kPeakLoops;
    case IsaLevel::kAvx512:
      return &avx512::kPeakLoops;
    case IsaLevel::kAmx:
      return &amx::kPeakLoops;
  }
  return nullptr;
}

constexpr IsaLevel kLevels[] = {IsaLevel::kRef, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx};

}  // namespace

const Ops* FindOps(IsaLevel level) { return CpuHas(level) ? TableOf(level) : nullptr; }

const PeakLoops* FindPeakLoops(IsaLevel level) { return CpuHas(level) ? PeakLoopsOf(level) : nullptr; }

const Ops& BestOps() {
  const Ops* best = &ref::kOps;
  for (const IsaLevel level : kLevels) {
    // Its instructions have only been seen emulated: it is taken by name, until tests have run on such a CPU.
    if (level == IsaLevel::kAmx) continue;
    if (const Ops* ops = FindOps(level)) best = ops;
  }
  return *best;
}

std::vector<IsaLevel> AvailableLevels() {
  std::vector<IsaLevel> levels;
  for (const IsaLevel level : kLevels) {
    if (FindOps(level) != nullptr) levels.push_back(level);
  }
  return levels;
}

double LogOfSum(double value) {
  constexpr double kLn2 = 0.693147180559945309417;
  constexpr double kSqrt2 = 1.41421356237309504880;
  const auto bits = std::bit_cast<uint64_t>(value);
  auto exponent = static_cast<double>(static_cast<int64_t>(bits >> 52) - 1023);
  double mantissa = std::bit_cast<double>((bits & 0xFFFFFFFFFFFFF) | 0x3FF0000000000000);
  if (mantissa > kSqrt2) {
    mantissa *= 0.5;
    exponent += 1.0;
  }
  // log m = 2 (s + s^3 / 3 + s^5 / 5 + ...), s = (m - 1) / (m + 1), |s| < 0.172.
  const double s = (mantissa - 1.0) / (mantissa + 1.0);
  const double z = s * s;
  double series = 0.0;
  for (int k = 21; k >= 1; k -= 2) series = std::fma(series, z, 1.0 / k);
  return std::fma(exponent, kLn2, 2.0 * s * series);
}

}  // namespace firebrick
