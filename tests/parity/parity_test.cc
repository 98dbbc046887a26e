// Logits of every architecture against transformers in FP32, with F32 weights and F32 KV, from both file
// formats.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "golden.h"

namespace firebrick {
namespace {

constexpr float kTolerance = 1e-4F;  // of (max - min of the golden logits)

// The largest difference to the golden logits, as a share of their range.
float RelativeError(const Golden& golden, const LogitRows& rows) {
  const auto [low, high] = std::minmax_element(golden.logits.begin(), golden.logits.end());
  const size_t vocab = golden.logits.size() / golden.positions.size();
  float worst = 0.0F;
  for (size_t i = 0; i < golden.positions.size(); ++i) {
    const std::vector<float>& row = rows.at(static_cast<size_t>(golden.positions[i]));
    for (size_t token = 0; token < vocab; ++token) {
      const float difference = std::fabs(row[token] - golden.logits[i * vocab + token]);
      worst = std::isfinite(difference) ? std::max(worst, difference) : INFINITY;
    }
  }
  return worst / (*high - *low);
}

class GoldenTest : public testing::TestWithParam<std::string> {
 protected:
  TemporaryFolder folder_;
};

TEST_P(GoldenTest, SafetensorsEqualTransformers) {
  const Golden golden = ReadGolden(GetParam());
  const LoadedModel loaded =
      LoadModel(WriteSafetensors(golden, WeightType::kF32, folder_.path()), BestOps(), 2);
  const LogitRows rows = RunFirst(loaded, BestOps(), {{golden.ids}}, 64, KvDType::kF32);
  ASSERT_EQ(rows.size(), golden.ids.size());
  const float error = RelativeError(golden, rows);
  RecordProperty("relative_error", std::to_string(error));
  printf("%s: max |delta| = %.2e of the range\n", golden.name.c_str(), static_cast<double>(error));
  EXPECT_LE(error, kTolerance);
}

TEST_P(GoldenTest, GgufEqualsTransformers) {
  const Golden golden = ReadGolden(GetParam());
  // What GGUF metadata cannot say, converters refuse as well.
  const bool expressible =
      golden.name != "llama_yarn_mscale" && golden.name != "qwen2_window" && golden.name != "gemma3";
  const LoadedModel loaded = LoadModel(WriteGguf(golden, WeightType::kF32, folder_.path()), BestOps(), 2);
  const LogitRows rows = RunFirst(loaded, BestOps(), {{golden.ids}}, 64, KvDType::kF32);
  ASSERT_EQ(rows.size(), golden.ids.size());
  const float error = RelativeError(golden, rows);
  if (expressible) {
    EXPECT_LE(error, kTolerance);
  } else {
    EXPECT_GT(error, kTolerance) << "the format has learnt to say this: strike the exception";
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, GoldenTest, testing::ValuesIn(GoldenNames()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace firebrick
