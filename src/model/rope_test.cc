#include "model/rope.h"

#include <cmath>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

RopeConfig Plain() {
  RopeConfig config;
  config.theta = 10000.0;
  config.rotary_dim = 8;
  return config;
}

TEST(RopeFrequencies, PlainIsAGeometricSeries) {
  const std::vector<float> frequencies = RopeFrequencies(Plain());
  EXPECT_EQ(frequencies, (std::vector<float>{1.0F, 0.1F, 0.01F, 0.001F}));
}

TEST(RopeFrequencies, LinearDividesAll) {
  RopeConfig config = Plain();
  config.scaling = RopeScaling::kLinear;
  config.factor = 8.0;
  EXPECT_EQ(RopeFrequencies(config)[1], 0.0125F);
}

TEST(RopeFrequencies, Llama3KeepsFastPairsAndDividesSlowOnes) {
  RopeConfig config = Plain();
  config.scaling = RopeScaling::kLlama3;
  config.factor = 8.0;
  config.original_max_position = 100;  // wavelengths are 6.3, 62.8, 628, 6283
  const std::vector<float> frequencies = RopeFrequencies(config);
  EXPECT_EQ(frequencies[0], 1.0F);
  EXPECT_GT(frequencies[1], 0.1F / 8);  // blended: 25 < 62.8 < 100
  EXPECT_LT(frequencies[1], 0.1F);
  EXPECT_EQ(frequencies[2], 0.01F / 8);
}

// Scout's file has low = high, so the blend band is empty and must not divide by zero.
TEST(RopeFrequencies, Llama3WithAnEmptyBandIsFinite) {
  RopeConfig config = Plain();
  config.scaling = RopeScaling::kLlama3;
  config.factor = 16.0;
  config.low_freq_factor = config.high_freq_factor = 1.0;
  config.original_max_position = 2.0 * std::acos(-1.0) * 10.0;  // the border falls on a pair
  for (const float frequency : RopeFrequencies(config)) EXPECT_TRUE(std::isfinite(frequency));
}

TEST(RopeFrequencies, YarnInterpolatesOnlySlowPairs) {
  RopeConfig config = Plain();
  config.scaling = RopeScaling::kYarn;
  config.factor = 4.0;
  config.original_max_position = 1024;
  const std::vector<float> frequencies = RopeFrequencies(config);
  EXPECT_EQ(frequencies[0], 1.0F);
  EXPECT_EQ(frequencies[3], 0.001F / 4);
}

TEST(RopeFrequencies, FileDivisorsApply) {
  RopeConfig config = Plain();
  config.freq_divisors = {1.0F, 1.0F, 2.0F, 8.0F};
  EXPECT_EQ(RopeFrequencies(config), (std::vector<float>{1.0F, 0.1F, 0.005F, 0.000125F}));
}

}  // namespace
}  // namespace firebrick
