// The levels that a conformance test compares with the reference, and inputs that hurt. Thread: one.
#pragma once

#include <bit>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "device/fp_mode.h"
#include "kernels/ops.h"
#include "kernels/ref/ref.h"

namespace firebrick {

namespace avx512_simde {
extern const Ops kOps;  // the AVX-512 sources over a portable emulation
}
namespace amx_emulated {
const Ops& Table();  // the AMX sources over an emulated tile unit and that
}

enum class TestedLevel { kAvx2, kAvx512, kAvx512Emulated, kAmx, kAmxEmulated };

// A test of each level; one that the CPU lacks says that it skips.
class ConformanceTest : public ::testing::TestWithParam<TestedLevel> {
 protected:
  void SetUp() override {
    switch (GetParam()) {
      case TestedLevel::kAvx2:
        ops_ = FindOps(IsaLevel::kAvx2);
        break;
      case TestedLevel::kAvx512:
        ops_ = FindOps(IsaLevel::kAvx512);
        break;
      case TestedLevel::kAvx512Emulated:
        ops_ = &avx512_simde::kOps;
        break;
      case TestedLevel::kAmx:
        // Not yet seen on such a CPU: it must not decide over a change before somebody has looked.
        if (std::getenv("FIREBRICK_TEST_AMX") == nullptr) {
          GTEST_SKIP() << "AMX itself is tested with FIREBRICK_TEST_AMX=1; its sources ran emulated";
        }
        ops_ = FindOps(IsaLevel::kAmx);
        break;
      case TestedLevel::kAmxEmulated:
        ops_ = &amx_emulated::Table();
        break;
    }
    if (ops_ == nullptr) GTEST_SKIP() << "this CPU lacks the level; its sources ran emulated";
  }
  const Ops& ops() const { return *ops_; }
  const Ops& ref() const { return ref::kOps; }

 private:
  const Ops* ops_ = nullptr;
  FlushDenormals flush_;
};

inline std::string NameOfTestedLevel(const ::testing::TestParamInfo<TestedLevel>& info) {
  constexpr const char* kNames[] = {"avx2", "avx512", "avx512_emulated", "amx", "amx_emulated"};
  return kNames[static_cast<size_t>(info.param)];
}

#define FIREBRICK_CONFORMANCE(name)                                                             \
  class name : public ConformanceTest {};                                                       \
  INSTANTIATE_TEST_SUITE_P(                                                                     \
      Levels, name,                                                                             \
      ::testing::Values(TestedLevel::kAvx2, TestedLevel::kAvx512, TestedLevel::kAvx512Emulated, \
                        TestedLevel::kAmx, TestedLevel::kAmxEmulated),                          \
      NameOfTestedLevel)

inline std::vector<float> RandomFloats(size_t size, uint32_t seed, float deviation = 1.0F) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(size);
  for (float& value : values) value = normal(random);
  return values;
}

// Values of all magnitudes, with zeros of both signs, ties of the BF16 rounding and very small numbers.
inline std::vector<float> HardFloats(size_t size, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values = RandomFloats(size, seed + 1, 3.0F);
  for (float& value : values) {
    switch (random() % 12) {
      case 0:
        value = random() % 2 == 0 ? 0.0F : -0.0F;
        break;
      case 1:
        value *= 1e-38F;
        break;
      case 2:
        value *= 100.0F;
        break;
      case 3:
        value = std::bit_cast<float>((std::bit_cast<uint32_t>(value) & 0xFFFF0000U) | 0x8000U);
        break;
      case 4:
        value *= 1e-20F;
        break;
      default:
        break;
    }
  }
  return values;
}

// Fails at the first place where two results differ in a bit.
inline ::testing::AssertionResult SameBits(const std::vector<float>& expected,
                                           const std::vector<float>& actual) {
  if (expected.size() != actual.size()) return ::testing::AssertionFailure() << "sizes differ";
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::bit_cast<uint32_t>(expected[i]) != std::bit_cast<uint32_t>(actual[i])) {
      return ::testing::AssertionFailure()
             << "at " << i << ": expected " << expected[i] << ", got " << actual[i];
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace firebrick
