#include "exec/sampler.h"

#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

constexpr int32_t kVocab = 1000;

std::vector<float> SomeLogits() {
  std::vector<float> logits(kVocab);
  uint32_t state = 1;
  for (float& logit : logits) {
    state = state * 1664525 + 1013904223;
    logit = static_cast<float>(state >> 8) * 0x1p-24F * 8 - 4;
  }
  return logits;
}

SlotState Slot(float temperature) {
  SlotState slot;
  slot.open = true;
  slot.sampling.temperature = temperature;
  slot.tokens = {1, 2, 3};
  slot.num_prompt_tokens = 3;
  return slot;
}

TEST(Sampler, GreedyTakesTheLowestIdOfTheLargest) {
  std::vector<float> logits(kVocab, 0.0F);
  logits[7] = logits[5] = 2.0F;
  Sampler sampler(BestOps(), kVocab);
  EXPECT_EQ(sampler.Sample(logits, Slot(0))->token, 5);
}

TEST(Sampler, PaddingOfTheVocabularyIsNeverSampled) {
  std::vector<float> logits(kVocab, 0.0F);
  logits[900] = 50.0F;
  Sampler sampler(BestOps(), 800);
  EXPECT_EQ(sampler.Sample(logits, Slot(0))->token, 0);
}

TEST(Sampler, ANumberThatIsNotFiniteFailsTheRow) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::vector<float> logits(kVocab, 0.0F);
    logits[3] = bad;
    Sampler sampler(BestOps(), kVocab);
    EXPECT_EQ(sampler.Sample(logits, Slot(1)).status().code(), StatusCode::kInternal);
  }
}

TEST(Sampler, FrequenciesFollowTheSoftmax) {
  std::vector<float> logits(kVocab, -100.0F);
  logits[10] = std::log(0.7F);
  logits[20] = std::log(0.3F);
  Sampler sampler(BestOps(), kVocab);
  std::map<int32_t, int> counts;
  for (uint64_t seed = 0; seed < 4000; ++seed) {
    SlotState slot = Slot(1);
    slot.sampling.seed = seed;
    ++counts[sampler.Sample(logits, slot)->token];
  }
  EXPECT_EQ(counts.size(), 2U);
  EXPECT_NEAR(counts[10] / 4000.0, 0.7, 0.03);
}

TEST(Sampler, TheDrawIsKeyedBySeedChoiceAndPosition) {
  const auto logits = SomeLogits();
  Sampler a(BestOps(), kVocab);
  Sampler b(BestOps(), kVocab);
  SlotState slot = Slot(1);
  slot.sampling.seed = 42;
  EXPECT_EQ(a.Sample(logits, slot)->token, b.Sample(logits, slot)->token);
  EXPECT_NE(UniformDraw(42, 0, 0), UniformDraw(42, 1, 0));
  EXPECT_NE(UniformDraw(42, 0, 0), UniformDraw(42, 0, 1));
  EXPECT_NE(UniformDraw(42, 0, 0), UniformDraw(43, 0, 0));
}

// Every filter against a plain statement of what it keeps.
TEST(Sampler, FiltersKeepExactlyTheirSet) {
  const auto logits = SomeLogits();
  std::vector<std::pair<double, int32_t>> sorted;
  double total = 0;
  for (int32_t i = 0; i < kVocab; ++i) {
    sorted.emplace_back(std::exp(static_cast<double>(logits[static_cast<size_t>(i)]) / 0.7), i);
    total += sorted.back().first;
  }
  std::sort(sorted.begin(), sorted.end(), [](auto& a, auto& b) { return a.first > b.first; });
  const auto allowed = [&](SlotState& slot) {
    size_t kept = kVocab;
    if (slot.sampling.top_k > 0) kept = static_cast<size_t>(slot.sampling.top_k);
    while (sorted[kept - 1].first < slot.sampling.min_p * sorted[0].first) --kept;
    double in_kept = 0;
    for (size_t i = 0; i < kept; ++i) in_kept += sorted[i].first;
    double sum = 0;
    size_t n = 0;
    while (n < kept && sum < slot.sampling.top_p * in_kept) sum += sorted[n++].first;
    return n;
  };
  Sampler sampler(BestOps(), kVocab);
  for (const int32_t top_k : {0, 1, 5, 300}) {
    for (const float top_p : {1.0F, 0.9F, 0.1F}) {
      for (const float min_p : {0.0F, 0.05F}) {
        SlotState slot = Slot(0.7F);
        slot.sampling.top_k = top_k;
        slot.sampling.top_p = top_p;
        slot.sampling.min_p = min_p;
        const size_t n = allowed(slot);
        std::map<int32_t, size_t> rank;
        for (size_t i = 0; i < kVocab; ++i) rank[sorted[i].second] = i;
        size_t worst = 0;
        for (uint64_t seed = 0; seed < 400; ++seed) {
          slot.sampling.seed = seed;
          worst = std::max(worst, rank[sampler.Sample(logits, slot)->token]);
        }
        EXPECT_LT(worst, n) << top_k << " " << top_p << " " << min_p;
        if (n <= 3) {
          EXPECT_EQ(worst + 1, n) << top_k << " " << top_p << " " << min_p;
        }
      }
    }
  }
}

TEST(Sampler, PenaltiesBiasAndMasks) {
  std::vector<float> logits(kVocab, 0.0F);
  logits[4] = 3.0F;
  logits[5] = 2.5F;
  logits[6] = 2.0F;
  Sampler sampler(BestOps(), kVocab);
  SlotState slot = Slot(0);
  slot.sampling.presence_penalty = 1.0F;
  slot.AppendOutput(4);
  EXPECT_EQ(sampler.Sample(logits, slot)->token, 5);
  slot.sampling.logit_bias = {{6, 5.0F}};
  EXPECT_EQ(sampler.Sample(logits, slot)->token, 6);
  slot.sampling.allowed_token_ids = {8, 9};
  EXPECT_EQ(sampler.Sample(logits, slot)->token, 8);

  SlotState repeated = Slot(0);
  repeated.tokens = {4, 5, 4};
  repeated.sampling.repetition_penalty = 2.0F;
  EXPECT_EQ(sampler.Sample(logits, repeated)->token, 6);

  SlotState forced = Slot(0);
  forced.min_tokens = 1;
  forced.stop_token_ids = {4};
  EXPECT_EQ(sampler.Sample(logits, forced)->token, 5);
  forced.AppendOutput(5);
  EXPECT_EQ(sampler.Sample(logits, forced)->token, 4);

  SlotState impossible = Slot(0);
  impossible.sampling.allowed_token_ids = {4};
  impossible.min_tokens = 1;
  impossible.stop_token_ids = {4};
  EXPECT_EQ(sampler.Sample(logits, impossible).status().code(), StatusCode::kInvalidArgument);
}

TEST(Sampler, LogprobsAreOfTheUnfilteredDistribution) {
  const auto logits = SomeLogits();
  double total = 0;
  for (const float logit : logits) total += std::exp(static_cast<double>(logit));
  Sampler sampler(BestOps(), kVocab);
  SlotState slot = Slot(0.5F);
  slot.sampling.top_k = 2;
  slot.sampling.num_logprobs = 3;
  const auto sampled = sampler.Sample(logits, slot);
  ASSERT_TRUE(sampled.ok());
  EXPECT_NEAR(sampled->logprob.logprob, logits[static_cast<size_t>(sampled->token)] - std::log(total), 1e-5);
  ASSERT_EQ(sampled->logprob.top.size(), 3U);
  EXPECT_GE(sampled->logprob.top[0].second, sampled->logprob.top[1].second);
}

}  // namespace
}  // namespace firebrick
