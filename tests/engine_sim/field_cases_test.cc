// The field cases that scheduler and KV metadata can answer, by the numbers of
// ../shared/cases/field-cases.md.
#include <random>

#include <gtest/gtest.h>

#include "sim_host.h"

namespace firebrick {
namespace {

constexpr int32_t kPage = kBlockTokens;

TEST(FieldCases, Case1MixedSizesWithCancelAndResendEqualTheirSoloRuns) {
  for (uint64_t seed = 0; seed < 10; ++seed) {
    std::mt19937_64 random(seed);
    SchedulerConfig config = SmallConfig(400);
    config.enable_prefix_caching = false;
    SimHost host(config);
    std::vector<RequestId> ids;
    for (int i = 0; i < 20; ++i) {
      ids.push_back(host.Add(
          RandomTokens(seed * 100 + static_cast<uint64_t>(i), 16 + static_cast<int32_t>(random() % 1500)),
          30));
    }
    for (int i = 0; i < 5; ++i) {
      for (auto steps = random() % 8; steps > 0; --steps) host.Step();
      const size_t victim = random() % ids.size();
      host.scheduler().Cancel(ids[victim]);
      ids[victim] = host.Add(host.outcome(ids[victim]).request);
    }
    host.RunAll();
    for (const RequestId id : ids) host.ExpectOracle(id);
    host.ExpectAtRest();
  }
}

TEST(FieldCases, Case2PoolInFullUse) {
  for (const bool cache : {false, true}) {
    SchedulerConfig config = SmallConfig(8 * 4);
    config.enable_prefix_caching = cache;
    SimHost host(config);
    std::vector<RequestId> ids;
    int32_t most_used = 0;
    for (uint64_t i = 0; i < 200; ++i) ids.push_back(host.Add(RandomTokens(i % 7, 2 * kPage), 2 * kPage));
    while (host.Step()) most_used = std::max(most_used, host.counters().num_blocks_used);
    EXPECT_GE(most_used, 30);
    for (const RequestId id : ids) host.ExpectOracle(id);
    host.ExpectAtRest();
  }
}

TEST(FieldCases, Case3NoPhantomHitsAfterFullEviction) {
  SimHost host(SmallConfig(20));
  const auto a = RandomTokens(1, 10 * kPage);
  for (uint64_t round = 0; round < 20; ++round) {
    const RequestId warm = host.Run(a, 4);
    EXPECT_EQ(host.outcome(host.Run(a, 4)).num_cached_tokens, 9 * kPage);
    host.ExpectOracle(warm);
    for (uint64_t i = 0; i < 4; ++i) host.Run(RandomTokens(100 + round * 4 + i, 12 * kPage), 2);
    const RequestId again = host.Run(a, 4);
    EXPECT_EQ(host.outcome(again).num_cached_tokens, 0);
    host.ExpectOracle(again);
  }
}

TEST(FieldCases, Case9AbortInTheStepOfTheLastToken) {
  SchedulerConfig config = SmallConfig(12, {0, 40});
  SimHost host(config);
  int cancelled = 0;
  for (uint64_t i = 0; i < 10'000; ++i) {
    const RequestId id =
        host.Add(RandomTokens(i % 50, 1 + static_cast<int32_t>(i % 70)), 1 + static_cast<int32_t>(i % 3));
    for (uint64_t steps = i % 5; steps > 0; --steps) host.Step();
    host.scheduler().Cancel(id);
    host.scheduler().Cancel(id);
    host.RunAll();
    const auto finish = host.outcome(id).finish;
    ASSERT_TRUE(finish.has_value());
    cancelled += *finish == FinishReason::kCancelled ? 1 : 0;
  }
  EXPECT_GT(cancelled, 100);
  EXPECT_LT(cancelled, 9'900);
  host.ExpectAtRest();
}

TEST(FieldCases, Case14PoolForTwoAndAHalfRequestsFinishesEight) {
  SimHost host(SmallConfig(10));  // one request: 4 blocks at its end
  std::vector<RequestId> ids;
  for (uint64_t i = 0; i < 8; ++i) ids.push_back(host.Add(RandomTokens(i, 20), 108));
  host.RunAll();
  for (const RequestId id : ids) host.ExpectOracle(id);
  EXPECT_GT(host.counters().num_preemptions, 0U);
  EXPECT_EQ(host.outcome(ids[0]).num_preemptions, 0) << "the oldest is never preempted";
  host.ExpectAtRest();
}

TEST(FieldCases, Case14WhatCanNeverFitIsRefused) {
  const SchedulerConfig config = SmallConfig(10);
  GenerateRequest request;
  request.prompt = RandomTokens(0, 100);
  request.stop.max_tokens = 10 * kPage - 100 + 1;  // the last token is never computed
  EXPECT_TRUE(ValidateRequest(config, request).ok());
  ++request.stop.max_tokens;
  const Status status = ValidateRequest(config, request);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(status.message().find("KV blocks"), std::string::npos) << status.message();
  EXPECT_EQ(MaxPositions(config), 10 * kPage);
}

TEST(FieldCases, Case21SaltsNeverShareAndEqualSaltsDo) {
  SimHost host(SmallConfig(64, {0, 64}));
  GenerateRequest request;
  request.prompt = RandomTokens(3, 5 * kPage);
  request.stop.max_tokens = 3;
  const auto run = [&](const std::string& salt) {
    request.cache_salt = salt;
    const RequestId id = host.Add(request);
    host.RunAll();
    host.ExpectOracle(id);
    return host.outcome(id).num_cached_tokens;
  };
  EXPECT_EQ(run("a"), 0);
  EXPECT_EQ(run("b"), 0);
  EXPECT_EQ(run(""), 0);
  EXPECT_EQ(run("a"), 4 * kPage);
  EXPECT_EQ(run(""), 4 * kPage);
}

TEST(FieldCases, Case23HitAnswersAsMissAtBlockBorders) {
  for (const std::vector<int32_t>& windows : {std::vector<int32_t>{0}, {0, 33}, {100}}) {
    for (const int32_t length : {kPage - 1, kPage, kPage + 1, 3 * kPage}) {
      SimHost host(SmallConfig(64, windows));
      const auto prompt = RandomTokens(static_cast<uint64_t>(length), length);
      host.ExpectOracle(host.Run(prompt, 10));
      const RequestId second = host.Run(prompt, 10);
      EXPECT_EQ(host.outcome(second).num_cached_tokens, (length - 1) / kPage * kPage)
          << "at least one token is computed";
      host.ExpectOracle(second);
      for (const int32_t extra : {1, kPage - 1, kPage, kPage + 1}) {
        const RequestId longer =
            host.Run(Joined(prompt, std::vector<int32_t>(static_cast<size_t>(extra), 200 + extra)), 10);
        EXPECT_EQ(host.outcome(longer).num_cached_tokens, length / kPage * kPage);
        host.ExpectOracle(longer);
      }
    }
  }
}

TEST(FieldCases, Case25PromptLogprobsSkipCacheReadsAndEqualEachOther) {
  SchedulerConfig config = SmallConfig(64);
  config.max_num_batched_tokens = 50;
  SimHost host(config);
  GenerateRequest request;
  request.prompt = RandomTokens(5, 3 * kPage);
  request.stop.max_tokens = 1;
  request.sampling.num_prompt_logprobs = 1;
  for (int i = 0; i < 3; ++i) {
    const RequestId id = host.Add(request);
    host.RunAll();
    host.ExpectOracle(id);
    EXPECT_EQ(host.outcome(id).prompt_logprobs.size(), request.prompt.size() - 1);
    EXPECT_EQ(host.outcome(id).num_cached_tokens, 0);
  }
  request.sampling.num_prompt_logprobs = -1;
  const RequestId plain = host.Add(request);
  host.RunAll();
  EXPECT_EQ(host.outcome(plain).num_cached_tokens, 2 * kPage) << "what they wrote may be read by others";
}

TEST(FieldCases, Case27ChatsOfTenTurnsComputeOnlyWhatIsNew) {
  SimHost host(SmallConfig(600, {0, 128, 128}));
  std::vector<int32_t> chats[2] = {RandomTokens(1, 500), RandomTokens(2, 700)};
  for (uint64_t turn = 0; turn < 10; ++turn) {
    for (auto& chat : chats) {
      chat = Joined(chat, RandomTokens(turn, 20));
      const RequestId id = host.Run(chat, 30);
      host.ExpectOracle(id);
      const auto& outcome = host.outcome(id);
      if (turn > 0) {
        EXPECT_GT(outcome.num_cached_tokens, static_cast<int32_t>(chat.size()) * 9 / 10 - kPage)
            << "turn " << turn;
      }
      chat = Joined(chat, outcome.tokens);
    }
  }
}

TEST(FieldCases, Case33EvictionShortensPrefixesFromTheirTail) {
  SimHost host(SmallConfig(40));
  const auto a = RandomTokens(1, 20 * kPage);
  host.Run(a, 1);
  host.Run(RandomTokens(2, 30 * kPage), 1);  // takes the free blocks and 10 of those of a
  const int32_t cached = host.outcome(host.Run(a, 1)).num_cached_tokens;
  EXPECT_GE(cached, 9 * kPage);
  EXPECT_LT(cached, 12 * kPage);
}

TEST(FieldCases, Case59ChoicesShareThePromptAndDifferBySeed) {
  SimHost host(SmallConfig(64));
  GenerateRequest request;
  request.prompt = RandomTokens(5, 4 * kPage + 5);
  request.stop.max_tokens = 20;
  request.sampling.seed = 1;
  std::vector<RequestId> ids;
  for (uint32_t choice = 0; choice < 4; ++choice) {
    request.sampling.choice = choice;
    ids.push_back(host.Add(request));
  }
  host.RunAll();
  for (size_t i = 0; i < 4; ++i) {
    host.ExpectOracle(ids[i]);
    EXPECT_EQ(host.outcome(ids[i]).num_cached_tokens, i == 0 ? 0 : 4 * kPage);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(host.outcome(ids[i]).tokens, host.outcome(ids[j]).tokens);
  }
}

TEST(FieldCases, Case77ZeroTokensWithPromptLogprobs) {
  SimHost host(SmallConfig(8));
  GenerateRequest request;
  request.prompt = {1, 2, 3};
  request.stop.max_tokens = 0;
  request.sampling.num_prompt_logprobs = 1;
  const RequestId id = host.Add(request);
  host.RunAll();
  host.ExpectOracle(id);
  EXPECT_EQ(host.outcome(id).prompt_logprobs.size(), 2U);
  EXPECT_EQ(*host.outcome(id).finish, FinishReason::kLength);
  host.ExpectAtRest();
}

TEST(FieldCases, Case82MinTokensAndIgnoredStopsCountExactly) {
  SimHost host(SmallConfig(32));
  GenerateRequest request;
  request.prompt = RandomTokens(1, 40);
  request.stop.max_tokens = 50;
  const RequestId ignoring = host.Add(request);
  for (int32_t token = 0; token < 60; ++token) request.stop.stop_token_ids.push_back(token);
  const RequestId stopping = host.Add(request);
  request.stop.min_tokens = 20;
  const RequestId late = host.Add(request);
  host.RunAll();
  EXPECT_EQ(host.outcome(ignoring).tokens.size(), 50U);
  EXPECT_LT(host.outcome(stopping).tokens.size(), 20U);
  EXPECT_GT(host.outcome(late).tokens.size(), 20U);
  for (const RequestId id : {ignoring, stopping, late}) host.ExpectOracle(id);
}

TEST(FieldCases, Case95OverflowIsRefusedWithItsNumbers) {
  SchedulerConfig config = SmallConfig(1000);
  config.max_model_len = 128;
  GenerateRequest request;
  request.stop.max_tokens = 28;
  request.prompt = RandomTokens(0, 100);
  EXPECT_TRUE(ValidateRequest(config, request).ok());
  for (const int32_t length : {101, 128, 1280}) {
    request.prompt = RandomTokens(0, length);
    const Status status = ValidateRequest(config, request);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_NE(status.message().find(std::to_string(length)), std::string::npos);
    EXPECT_NE(status.message().find("128"), std::string::npos);
  }
  request.prompt.clear();
  EXPECT_EQ(ValidateRequest(config, request).code(), StatusCode::kInvalidArgument);
}

TEST(FieldCases, Case103PoolFullOfIdleChatsIsReclaimed) {
  SimHost host(SmallConfig(32));
  for (uint64_t i = 0; i < 9; ++i) host.ExpectOracle(host.Run(RandomTokens(i, 4 * kPage - 2), 2));
  EXPECT_GT(host.counters().num_blocks_cached, 20);
  host.ExpectOracle(host.Run(RandomTokens(99, 30 * kPage), 10));
  host.ExpectAtRest();
}

TEST(FieldCases, Case105LongPromptsDoNotStarveStreamsAndStillMoveOn) {
  SchedulerConfig config = SmallConfig(8000);
  config.target_step_ms = 50;
  config.max_num_batched_tokens = 4096;
  FakeExecutorConfig device;
  device.ns_per_step = 5'000'000;
  device.ns_per_token = 200'000;  // 5,000 tokens a second
  SimHost host(config, device);
  std::vector<RequestId> streams;
  for (uint64_t i = 0; i < 6; ++i) streams.push_back(host.Add(RandomTokens(i, 20), 300));
  for (int i = 0; i < 20; ++i) host.Step();
  std::vector<RequestId> prompts;
  for (uint64_t i = 0; i < 10; ++i) prompts.push_back(host.Add(RandomTokens(50 + i, 4000), 2));
  const SteadyTime begin = host.now();
  host.RunAll();
  std::vector<double> gaps_ms;
  for (const RequestId id : streams) {
    host.ExpectOracle(id);
    const auto& times = host.outcome(id).times;
    for (size_t i = 25; i < times.size(); ++i) {
      gaps_ms.push_back(std::chrono::duration<double, std::milli>(times[i] - times[i - 1]).count());
    }
  }
  std::sort(gaps_ms.begin(), gaps_ms.end());
  EXPECT_LT(gaps_ms[gaps_ms.size() * 99 / 100], 75.0);
  EXPECT_LT(gaps_ms.back(), 150.0);
  for (const RequestId id : prompts) host.ExpectOracle(id);
  // 40,000 tokens at 5,000 a second are 8 s of work; the streams may not cost prefill much more than that.
  EXPECT_LT(std::chrono::duration<double>(host.now() - begin).count(), 12.0);
}

TEST(FieldCases, Case110NothingIsLeftOfManyShortRequests) {
  SimHost host(SmallConfig(64));
  GenerateRequest request;
  request.stop.max_tokens = 3;
  for (uint64_t i = 0; i < 3000; ++i) {
    request.prompt = RandomTokens(i, 40);
    request.cache_salt = std::to_string(i);
    const RequestId id = host.Add(request);
    if (i % 3 == 0) host.scheduler().Cancel(id);
    if (i % 16 == 0) host.RunAll();
  }
  host.RunAll();
  host.ExpectAtRest();
  EXPECT_LE(host.counters().num_blocks_cached, 64) << "the index is bounded by the pool";
}

}  // namespace
}  // namespace firebrick
