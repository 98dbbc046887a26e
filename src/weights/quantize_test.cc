// Quantisers: the 32-blocks against the Python package `gguf` byte for byte (testdata:
// tools/make_dequant_goldens.py), the others by the error that their bits allow.
#include "weights/quantize.h"

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "weights/expand.h"

namespace firebrick {
namespace {

TEST(Quantize, BlocksOf32EqualThePythonPackage) {
  const std::string data =
      ReadFile(FIREBRICK_SOURCE_DIR "/src/weights/testdata/quant_goldens.bin", 1 << 20).value();
  size_t num_types = 0;
  for (size_t at = 0; at < data.size(); ++num_types) {
    uint32_t head[4];
    std::memcpy(head, data.data() + at, sizeof(head));
    at += sizeof(head);
    const WeightType type = FindWeightTypeByGgufId(head[0]).value();
    std::vector<float> values(size_t{head[1]} * head[3]);
    std::memcpy(values.data(), data.data() + at, values.size() * 4);
    at += values.size() * 4;
    std::vector<std::byte> bytes(size_t{head[1]} * head[2]);
    QuantizeRows(type, values.data(), head[3], head[1], bytes.data());
    for (size_t i = 0; i < bytes.size(); ++i) {
      ASSERT_EQ(bytes[i], static_cast<std::byte>(data[at + i]))
          << InfoOf(type).name << " block " << i / head[2] << " byte " << i % head[2];
    }
    at += bytes.size();
  }
  EXPECT_EQ(num_types, 5U);
}

struct ErrorBound {
  WeightType type;
  double relative_rms;  // of values drawn from a normal distribution
};

// Each bound is one to three times the error itself (the test checks both sides). A wrong nibble order or
// scale gives an error of 1 and more.
class QuantizeError : public testing::TestWithParam<ErrorBound> {};

TEST_P(QuantizeError, StaysWithinTheBits) {
  const auto [type, bound] = GetParam();
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::vector<float> values(64 * 512);
  for (float& value : values) value = normal(random);
  for (size_t i = 0; i < 256; ++i) values[i] = 0;                       // a block of zeros
  for (size_t i = 256; i < 512; ++i) values[i] = std::fabs(values[i]);  // a block above zero
  const WeightTypeInfo& info = InfoOf(type);
  std::vector<std::byte> bytes(values.size() / info.block_elements * info.block_bytes);
  QuantizeRows(type, values.data(), 512, 64, bytes.data());
  std::vector<float> back(values.size());
  DequantizeRows(type, bytes.data(), 512, 0, 64, back.data());
  double error = 0;
  double power = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    error += std::pow(double{back[i]} - values[i], 2);
    power += std::pow(double{values[i]}, 2);
  }
  for (size_t i = 0; i < 256; ++i) EXPECT_EQ(back[i], 0) << info.name;
  EXPECT_LE(std::sqrt(error / power), bound) << info.name;
  EXPECT_GE(std::sqrt(error / power), bound / 3) << info.name << ": the bound is too loose to notice a fault";
}

INSTANTIATE_TEST_SUITE_P(
    Types, QuantizeError,
    testing::Values(ErrorBound{WeightType::kF16, 3e-4}, ErrorBound{WeightType::kBF16, 2.2e-3},
                    ErrorBound{WeightType::kQ8_0, 7e-3}, ErrorBound{WeightType::kQ4_0, 0.12},
                    ErrorBound{WeightType::kQ4_1, 0.11}, ErrorBound{WeightType::kQ5_0, 0.06},
                    ErrorBound{WeightType::kQ5_1, 0.05}, ErrorBound{WeightType::kQ2_K, 0.5},
                    ErrorBound{WeightType::kQ3_K, 0.25}, ErrorBound{WeightType::kQ4_K, 0.11},
                    ErrorBound{WeightType::kQ5_K, 0.06}, ErrorBound{WeightType::kQ6_K, 0.03},
                    ErrorBound{WeightType::kIQ4_NL, 0.12}, ErrorBound{WeightType::kIQ4_XS, 0.12}),
    [](const auto& info) { return std::string(InfoOf(info.param.type).name); });

TEST(Quantize, FallsBackWhereTheBlockDoesNotDivide) {
  EXPECT_EQ(FallbackType(WeightType::kQ4_K, 576), WeightType::kQ5_0);
  EXPECT_EQ(FallbackType(WeightType::kQ6_K, 576), WeightType::kQ8_0);
  EXPECT_EQ(FallbackType(WeightType::kQ4_K, 512), WeightType::kQ4_K);
  EXPECT_EQ(FallbackType(WeightType::kQ5_K, 72), WeightType::kF16);
  EXPECT_EQ(FallbackType(WeightType::kQ4_0, 40), WeightType::kF16);
}

}  // namespace
}  // namespace firebrick
