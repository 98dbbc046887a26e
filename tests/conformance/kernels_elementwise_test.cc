// Norm, rope, activations, sampling, preparation of activations: each level equals the reference.
#include <algorithm>

#include "kernels/rope_table.h"
#include "levels.h"

namespace firebrick {
namespace {

FIREBRICK_CONFORMANCE(ElementwiseConformance);

std::vector<int64_t> Sizes() {
  std::vector<int64_t> sizes;
  for (int64_t size = 1; size <= 50; ++size) sizes.push_back(size);
  sizes.insert(sizes.end(), {64, 576, 1000, 1152});
  return sizes;
}

TEST_P(ElementwiseConformance, ActivationsAndSums) {
  for (const int64_t size : Sizes()) {
    const auto n = static_cast<size_t>(size);
    const auto seed = static_cast<uint32_t>(size);
    std::vector<float> a = HardFloats(n, seed);
    const std::vector<float> b = HardFloats(n, seed + 1000);
    if (size > 3) {
      a[1] = std::numeric_limits<float>::infinity();
      a[2] = -std::numeric_limits<float>::infinity();
      a[3] = -1e30F;
    }
    std::vector<float> want(n);
    std::vector<float> got(n);
    ref().add(a.data(), b.data(), size, want.data());
    ops().add(a.data(), b.data(), size, got.data());
    EXPECT_TRUE(SameBits(want, got)) << "add " << size;
    ref().scale(a.data(), 0.37F, size, want.data());
    ops().scale(a.data(), 0.37F, size, got.data());
    EXPECT_TRUE(SameBits(want, got)) << "scale " << size;
    if (size > 3) a[2] = -88.5F;  // -inf * 0 is a NaN, whose bits nobody promises
    if (size > 3) a[1] = 91.0F;
    ref().silu_mul(a.data(), b.data(), size, want.data());
    ops().silu_mul(a.data(), b.data(), size, got.data());
    EXPECT_TRUE(SameBits(want, got)) << "silu_mul " << size;
    ref().gelu_tanh_mul(a.data(), b.data(), size, want.data());
    ops().gelu_tanh_mul(a.data(), b.data(), size, got.data());
    EXPECT_TRUE(SameBits(want, got)) << "gelu_tanh_mul " << size;
  }
}

TEST_P(ElementwiseConformance, RmsNormInPlaceAndApart) {
  for (const int64_t size : Sizes()) {
    const auto n = static_cast<size_t>(size);
    const std::vector<float> x = HardFloats(3 * n, static_cast<uint32_t>(size));
    const std::vector<float> weight = RandomFloats(n, 5);
    std::vector<float> want(3 * n);
    std::vector<float> got(x);
    ref().rms_norm(x.data(), size, 3, size, weight.data(), 1e-5F, want.data(), size);
    ops().rms_norm(got.data(), size, 3, size, weight.data(), 1e-5F, got.data(), size);
    EXPECT_TRUE(SameBits(want, got)) << size;
  }
}

TEST_P(ElementwiseConformance, Rope) {
  for (const int64_t head_dim : {2, 6, 40, 64, 80, 96, 128, 256}) {
    for (const int64_t num_pairs : {head_dim / 2, std::max<int64_t>(1, head_dim / 4)}) {
      const auto pairs = static_cast<size_t>(num_pairs);
      std::vector<float> frequencies(pairs);
      for (size_t i = 0; i < pairs; ++i) frequencies[i] = 1.0F / static_cast<float>(1 + i * i);
      std::vector<float> cos(pairs);
      std::vector<float> sin(pairs);
      FillRopeRow(1234, frequencies.data(), num_pairs, 1.25F, cos.data(), sin.data());
      for (const bool half : {true, false}) {
        std::vector<float> want =
            HardFloats(static_cast<size_t>(3 * head_dim), static_cast<uint32_t>(head_dim));
        std::vector<float> got = want;
        (half ? ref().rope_half : ref().rope_adjacent)(want.data(), 3, head_dim, num_pairs, cos.data(),
                                                       sin.data());
        (half ? ops().rope_half : ops().rope_adjacent)(got.data(), 3, head_dim, num_pairs, cos.data(),
                                                       sin.data());
        EXPECT_TRUE(SameBits(want, got)) << head_dim << " " << num_pairs << " " << half;
      }
    }
  }
}

TEST_P(ElementwiseConformance, Sampling) {
  for (const int64_t size : {1, 2, 15, 16, 17, 100, 4095, 4096, 4097, 9000}) {
    std::vector<float> logits = RandomFloats(static_cast<size_t>(size), static_cast<uint32_t>(size), 8.0F);
    const auto greatest = std::max_element(logits.begin(), logits.end());
    const int64_t at = greatest - logits.begin();
    logits.back() = *greatest;  // a tie: the first one wins
    EXPECT_EQ(ref().argmax(logits.data(), size), at);
    EXPECT_EQ(ops().argmax(logits.data(), size), at);
    if (size > 20)
      logits[static_cast<size_t>((at + 3) % (size - 1))] = std::numeric_limits<float>::quiet_NaN();
    EXPECT_EQ(ops().argmax(logits.data(), size), ref().argmax(logits.data(), size));
    for (float& logit : logits) logit = logit != logit ? -std::numeric_limits<float>::infinity() : logit;
    const float max = logits[static_cast<size_t>(at)];
    const double want = ref().sum_exp(logits.data(), size, max, 1.0F / 0.7F);
    EXPECT_EQ(ops().sum_exp(logits.data(), size, max, 1.0F / 0.7F), want);
    std::vector<float> want_exp(logits.size());
    std::vector<float> got_exp = logits;
    ref().exp_shifted(logits.data(), size, max, 0.9F, want_exp.data());
    ops().exp_shifted(got_exp.data(), size, max, 0.9F, got_exp.data());
    EXPECT_TRUE(SameBits(want_exp, got_exp)) << size;
  }
  const std::vector<float> nothing(40, -std::numeric_limits<float>::infinity());
  EXPECT_EQ(ops().argmax(nothing.data(), 40), 0);
}

TEST_P(ElementwiseConformance, PrepareActivation) {
  for (const int64_t cols : {1, 16, 31, 32, 33, 80, 576}) {
    const int64_t rows = 3;
    std::vector<float> x = HardFloats(static_cast<size_t>(rows * cols), static_cast<uint32_t>(cols));
    const ActivationNeeds all{true, true, true, true, true};
    Activation want;
    Activation got;
    ASSERT_TRUE(want.Reshape(rows, cols, all).ok());
    ASSERT_TRUE(got.Reshape(rows, cols, all).ok());
    ref().prepare_activation(x.data(), cols, {0, rows}, &want);
    for (int64_t row = 0; row < rows; ++row) ops().prepare_activation(x.data(), cols, {row, row + 1}, &got);
    const auto values = static_cast<size_t>(rows * want.padded_cols());
    EXPECT_EQ(std::memcmp(want.exact(0), got.exact(0), values * 4), 0) << cols;
    EXPECT_EQ(std::memcmp(want.rounded(0), got.rounded(0), values * 4), 0) << cols;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t block = 0; block < want.padded_cols() / 32; ++block) {
        EXPECT_EQ(std::memcmp(want.bf16(row, block), got.bf16(row, block), 32 * 2), 0) << cols;
      }
    }
    EXPECT_EQ(std::memcmp(want.sums(0, 32), got.sums(0, 32), values / 32 * 4), 0) << cols;
    EXPECT_EQ(std::memcmp(want.sums(0, 16), got.sums(0, 16), values / 16 * 4), 0) << cols;
  }
}

}  // namespace
}  // namespace firebrick
