#include "tensor/float_bits.h"

#include <cmath>

#include <gtest/gtest.h>
#include <immintrin.h>

namespace firebrick {
namespace {

TEST(FloatBits, F16AgreesWithTheProcessorForEveryPattern) {
  for (uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<uint16_t>(bits);
    const float ours = F16ToF32(half);
    const float theirs = _cvtsh_ss(half);
    if (std::isnan(theirs)) {
      EXPECT_TRUE(std::isnan(ours));
      continue;
    }
    EXPECT_EQ(std::bit_cast<uint32_t>(ours), std::bit_cast<uint32_t>(theirs)) << bits;
    EXPECT_EQ(F32ToF16(ours), half);
  }
}

TEST(FloatBits, F32ToF16RoundsLikeTheProcessor) {
  for (uint64_t bits = 0; bits < (1ULL << 32); bits += 9973) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(F32ToF16(value), static_cast<uint16_t>(_cvtss_sh(value, 0))) << bits;
  }
}

TEST(FloatBits, Bf16RoundsToNearestEven) {
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3F808000U)), 0x3F80);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3F818000U)), 0x3F82);
  EXPECT_EQ(F32ToBf16(std::bit_cast<float>(0x3F808001U)), 0x3F81);
  EXPECT_TRUE(std::isnan(Bf16ToF32(F32ToBf16(std::bit_cast<float>(0x7F800001U)))));
}

}  // namespace
}  // namespace firebrick
