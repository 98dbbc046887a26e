// The definitions themselves: how near they are to real numbers, and how weights are packed.
#include <array>
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "device/fp_mode.h"
#include "kernels/ops.h"
#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"
#include "kernels/rope_table.h"

namespace firebrick {
namespace {

TEST(DefinitionTest, ExpIsNearAndEndsAreExact) {
  const FlushDenormals flush;
  double worst = 0.0;
  for (int i = -870000; i <= 880000; ++i) {
    const float x = static_cast<float>(i) * 1e-4F;
    if (x < -86.9F) continue;
    const double exact = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(ref::Exp(x) / exact - 1.0));
  }
  EXPECT_LT(worst, 0x1p-22);
  EXPECT_EQ(ref::Exp(0.0F), 1.0F);
  EXPECT_EQ(ref::Exp(-0.0F), 1.0F);
  EXPECT_EQ(ref::Exp(-87.5F), 0.0F);
  EXPECT_EQ(ref::Exp(-std::numeric_limits<float>::infinity()), 0.0F);
  EXPECT_EQ(ref::Exp(1000.0F), ref::Exp(88.0F));
  EXPECT_TRUE(std::isnan(ref::Exp(std::numeric_limits<float>::quiet_NaN())));
}

TEST(DefinitionTest, ActivationsAreNear) {
  for (float x = -30.0F; x < 30.0F; x += 0.01F) {
    const auto d = static_cast<double>(x);
    const double silu = d / (1.0 + std::exp(-d));
    const double gelu = 0.5 * d * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (d + 0.044715 * d * d * d)));
    EXPECT_NEAR(ref::Silu(x), silu, 1e-6 * std::abs(d) + 1e-9);
    EXPECT_NEAR(ref::GeluTanh(x), gelu, 1e-6 * std::abs(d) + 1e-9);
  }
}

TEST(DefinitionTest, LogOfSumIsNear) {
  for (double x = 1.0; x < 1e6; x *= 1.0137) {
    EXPECT_NEAR(LogOfSum(x), std::log(x), 1e-15 * (1.0 + std::log(x)));
  }
  EXPECT_EQ(LogOfSum(1.0), 0.0);
}

TEST(DefinitionTest, RopeRowsAreCorrectlyRoundedAlmostEverywhere) {
  std::mt19937 random(1);
  std::vector<float> frequencies(64);
  for (size_t i = 0; i < 64; ++i) {
    frequencies[i] = static_cast<float>(std::pow(500000.0, -static_cast<double>(i) / 64.0));
  }
  std::array<float, 64> cos{};
  std::array<float, 64> sin{};
  int off = 0;
  for (int round = 0; round < 2000; ++round) {
    const auto position = static_cast<int64_t>(random() % (1U << 20));
    FillRopeRow(position, frequencies.data(), 64, 1.0F, cos.data(), sin.data());
    for (size_t i = 0; i < 64; ++i) {
      const double angle = static_cast<float>(position) * frequencies[i];
      ASSERT_NEAR(cos[i], std::cos(angle), 6e-8);
      ASSERT_NEAR(sin[i], std::sin(angle), 6e-8);
      off += cos[i] != static_cast<float>(std::cos(angle)) ? 1 : 0;
      off += sin[i] != static_cast<float>(std::sin(angle)) ? 1 : 0;
    }
  }
  EXPECT_LT(off, 5);  // of 256,000
  FillRopeRow(0, frequencies.data(), 64, 1.5F, cos.data(), sin.data());
  EXPECT_EQ(cos[3], 1.5F);
  EXPECT_EQ(sin[3], 0.0F);
}

TEST(DefinitionTest, Bf16RoundsToNearestEven) {
  EXPECT_EQ(ref::RoundToBf16(1.0F + 0x1p-8F), 1.0F);
  EXPECT_EQ(ref::RoundToBf16(1.0F + 0x3p-8F), 1.0F + 0x1p-6F);
  EXPECT_EQ(ref::RoundToBf16(-1.0F - 0x1.1p-8F), -1.0F - 0x1p-7F);
}

// The order of a pair chain, by values for which every other order gives another result.
TEST(DefinitionTest, PairChainAddsEvenAndOddPositionsApart) {
  const std::array<float, 4> w = {0x1p24F, 1.0F, 1.0F, 0x1p-1F};
  const float sum = ref::PairChain(
      4, [&](int64_t i) { return w[static_cast<size_t>(i)]; }, [](int64_t) { return 1.0F; });
  EXPECT_EQ(sum, 0x1p24F + 2.0F);  // even: 2^24 + 1 rounds to 2^24; odd: 1.5; their sum rounds to 2^24 + 2
}

TEST(DefinitionTest, AttentionIsNearSoftmaxOnEveryLevel) {
  const FlushDenormals flush;
  constexpr int32_t kTokens = 600;
  constexpr int32_t kDim = 64;
  KvGeometry geometry{KvDType::kF32, 1, kDim, {{{0}, 0}}};
  std::vector<std::byte> arena(geometry.page_bytes() * 19);
  std::vector<BlockId> table;
  for (uint32_t i = 0; i < 19; ++i) table.emplace_back(18 - i);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> keys(kTokens * kDim);
  std::vector<float> values(kTokens * kDim);
  for (float& x : keys) x = normal(random);
  for (float& x : values) x = normal(random);
  const KvHeadPages pages{KvDType::kF32,
                          kDim,
                          arena.data(),
                          geometry.page_bytes(),
                          geometry.KeyOffset(0, 0),
                          geometry.ValueOffset(0, 0),
                          table.data()};
  ref::KvWrite({pages, 0, kTokens, keys.data(), values.data(), kDim, kDim});
  for (const int32_t window : {0, 100}) {
    for (const int32_t position : {0, 31, 255, 256, 599}) {
      std::vector<float> query(kDim);
      for (float& x : query) x = normal(random);
      std::vector<float> output(kDim);
      AttentionArgs args{pages, 1, window, 0.125F, position, query.data(), kDim, output.data(), kDim};
      std::vector<float> scratch(AttentionScratchFloats(kDim));
      ref::Attention(args, {0, 1}, scratch.data());
      for (const IsaLevel level : AvailableLevels()) {
        std::vector<float> again(kDim);
        args.outputs = again.data();
        FindOps(level)->attention(args, {0, 1}, scratch.data());
        EXPECT_EQ(again, output) << NameOf(level);
      }
      const int32_t lowest = window > 0 ? std::max(0, position - window + 1) : 0;
      std::vector<double> want(kDim, 0.0);
      double total = 0.0;
      for (int32_t j = lowest; j <= position; ++j) {
        double score = 0.0;
        for (int32_t d = 0; d < kDim; ++d) score += static_cast<double>(query[d]) * keys[j * kDim + d];
        const double weight = std::exp(score * 0.125);
        total += weight;
        for (int32_t d = 0; d < kDim; ++d) want[d] += weight * values[j * kDim + d];
      }
      for (int32_t d = 0; d < kDim; ++d)
        EXPECT_NEAR(output[d], want[d] / total, 2e-6) << position << " " << window;
    }
  }
}

TEST(PackedLinearTest, LinearIsNearTheExactProductOnEveryLevel) {
  const FlushDenormals flush;
  constexpr std::array<int8_t, 16> kCodes = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
  const CanonicalFormat format{CanonicalForm::kGrouped, 32, true, 4, false, kCodes.data()};
  CanonicalRows rows;
  rows.format = format;
  rows.num_rows = 3;
  rows.num_cols = 64;
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (int i = 0; i < 3 * 64; ++i) rows.codes.push_back(kCodes[random() % 16]);
  for (int i = 0; i < 3 * 2; ++i) {
    rows.scales.push_back(normal(random));
    rows.mins.push_back(normal(random));
  }
  Result<PackedLinear> linear = PackedLinear::Create(format, 3, 64);
  ASSERT_TRUE(linear.ok());
  linear->PackPanel(0, rows);
  EXPECT_EQ(linear->num_panels(), 1);
  EXPECT_TRUE(linear->needs().rounded && linear->needs().sums32 && !linear->needs().sums16);
  std::vector<float> x(64);
  for (float& value : x) value = ref::RoundToBf16(normal(random));
  Activation activation;
  ASSERT_TRUE(activation.Reshape(1, 64, linear->needs()).ok());
  ref::PrepareActivation(x.data(), 64, {0, 1}, &activation);
  std::vector<float> y(3);
  Linear(ref::kOps, *linear, activation, {0, 1}, {0, 1}, nullptr, y.data(), 3);
  for (const IsaLevel level : AvailableLevels()) {
    std::vector<float> again(3);
    Linear(*FindOps(level), *linear, activation, {0, 1}, {0, 1}, nullptr, again.data(), 3);
    EXPECT_EQ(again, y) << NameOf(level);
  }
  for (size_t o = 0; o < 3; ++o) {
    double want = 0.0;
    for (size_t k = 0; k < 64; ++k) {
      const size_t g = o * 2 + k / 32;
      want += (static_cast<double>(rows.codes[o * 64 + k]) * rows.scales[g] + rows.mins[g]) * x[k];
    }
    EXPECT_NEAR(y[o], want, 1e-4);
  }
}

TEST(RegistryTest, LevelsHaveNamesAndTheReferenceIsAlwaysThere) {
  EXPECT_EQ(FindIsaLevel("avx2"), IsaLevel::kAvx2);
  EXPECT_FALSE(FindIsaLevel("sse").has_value());
  ASSERT_NE(FindOps(IsaLevel::kRef), nullptr);
  EXPECT_EQ(AvailableLevels().front(), IsaLevel::kRef);
  EXPECT_EQ(AvailableLevels().back(), BestOps().level);
  for (const IsaLevel level : AvailableLevels()) EXPECT_EQ(FindOps(level)->level, level);
}

}  // namespace
}  // namespace firebrick
