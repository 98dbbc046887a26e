// Properties of the scheduler that are promised in docs/contracts/engine_loop.md and kv.md.
#include <gtest/gtest.h>

#include "sim_host.h"

namespace firebrick {
namespace {

constexpr int32_t kPage = kBlockTokens;

// Drives plans and results by hand.
struct Desk {
  explicit Desk(const SchedulerConfig& config) : scheduler(config) {}
  bool Plan() { return scheduler.Plan({}, &plan); }
  StepResult ResultOf(const StepPlan& of, int32_t token) {
    StepResult result;
    result.step_id = of.step_id;
    for (const StepRow& row : of.rows) {
      RowResult& out = result.rows.emplace_back();
      out.slot = row.slot;
      if (row.wants_token) out.token = token;
    }
    return result;
  }
  void Apply(const StepPlan& of, int32_t token) {
    StepResult result = ResultOf(of, token);
    scheduler.Apply(&result, {});
  }
  void Add(uint64_t id, std::vector<int32_t> prompt, int32_t max_tokens, std::vector<int32_t> stops = {}) {
    GenerateRequest request;
    request.id = RequestId(id);
    request.prompt = std::move(prompt);
    request.stop.max_tokens = max_tokens;
    request.stop.stop_token_ids = std::move(stops);
    scheduler.Add(std::move(request));
  }
  Scheduler scheduler;
  StepPlan plan;
};

TEST(Scheduler, PlansAheadOfResults) {
  Desk desk(SmallConfig(8));
  desk.Add(1, {5, 6, 7}, 3);
  ASSERT_TRUE(desk.Plan());
  const StepPlan first = desk.plan;
  EXPECT_FALSE(first.rows[0].id_from_slot);
  EXPECT_EQ(first.token_ids, (std::vector<int32_t>{5, 6, 7}));
  ASSERT_TRUE(desk.Plan());
  const StepPlan second = desk.plan;
  EXPECT_TRUE(second.rows[0].id_from_slot);
  EXPECT_EQ(second.rows[0].first_position, 3);
  ASSERT_TRUE(desk.Plan());
  EXPECT_FALSE(desk.Plan()) << "the third token is the last: nothing is computed for it";
}

TEST(Scheduler, TokensBehindAStopAreNeverCounted) {
  Desk desk(SmallConfig(8));
  desk.Add(1, {5, 6, 7}, 10, {42});
  ASSERT_TRUE(desk.Plan());
  const StepPlan first = desk.plan;
  ASSERT_TRUE(desk.Plan());
  const StepPlan second = desk.plan;
  desk.Apply(first, 42);
  ASSERT_EQ(desk.scheduler.events().size(), 1U);
  EXPECT_EQ(desk.scheduler.events()[0].token, 42);
  EXPECT_EQ(desk.scheduler.events()[0].finish, FinishReason::kStop);
  EXPECT_EQ(desk.scheduler.events()[0].matched_stop_token, 42);
  EXPECT_GT(desk.scheduler.Counters().num_blocks_used, 0) << "a step in flight sees its block";
  desk.Apply(second, 77);
  EXPECT_EQ(desk.scheduler.events().size(), 1U);
  EXPECT_EQ(desk.scheduler.Counters().num_blocks_used, 0);
  EXPECT_FALSE(desk.scheduler.HasWork());
}

TEST(Scheduler, CancelFreesBlocksWithTheStepsInFlight) {
  Desk desk(SmallConfig(8));
  desk.Add(1, RandomTokens(1, 100), 10);
  ASSERT_TRUE(desk.Plan());
  const StepPlan first = desk.plan;
  desk.scheduler.Cancel(RequestId(1));
  EXPECT_EQ(desk.scheduler.Counters().num_running, 0);
  EXPECT_EQ(desk.scheduler.Counters().num_blocks_used, 4);
  desk.Apply(first, 1);
  EXPECT_EQ(desk.scheduler.Counters().num_blocks_used, 0);
  desk.Add(2, {1}, 1);
  ASSERT_TRUE(desk.Plan());
  EXPECT_EQ(desk.plan.closed.size(), 1U);
  EXPECT_EQ(desk.plan.opened.size(), 1U) << "the slot may be opened again in the plan that closes it";
}

TEST(Scheduler, OnlyPagesThatTheStepDoesNotFillAreZeroed) {
  Desk desk(SmallConfig(8));
  desk.Add(1, RandomTokens(1, 2 * kPage + 1), 10);
  ASSERT_TRUE(desk.Plan());
  EXPECT_EQ(desk.plan.appended.size(), 3U);
  ASSERT_EQ(desk.plan.zeroed.size(), 1U);
  EXPECT_EQ(desk.plan.zeroed[0], desk.plan.appended[2].block);
}

TEST(Scheduler, APrefixThatIsBeingComputedIsNotComputedTwice) {
  SchedulerConfig config = SmallConfig(200);
  config.max_num_batched_tokens = 64;
  SimHost host(config);
  const auto shared = RandomTokens(1, 20 * kPage);
  std::vector<RequestId> ids;
  for (uint64_t i = 0; i < 5; ++i) ids.push_back(host.Add(Joined(shared, RandomTokens(10 + i, 8)), 4));
  const RequestId other = host.Add(RandomTokens(77, 10), 2);
  host.RunAll();
  for (const RequestId id : ids) host.ExpectOracle(id);
  host.ExpectOracle(other);
  EXPECT_EQ(host.num_computed_tokens(), 20 * kPage + 5 * (8 + 3) + 11);
  EXPECT_LT(host.outcome(other).times[0], host.outcome(ids[0]).times[0])
      << "who waits for a prefix is overtaken";
}

TEST(Scheduler, WaitersGoOnWhenTheSequenceTheyWaitForDies) {
  SchedulerConfig config = SmallConfig(200);
  config.max_num_batched_tokens = 64;
  for (const bool by_failure : {false, true}) {
    SimHost host(config);
    const auto shared = RandomTokens(1, 20 * kPage);
    const RequestId first = host.Add(Joined(shared, {1}), 4);
    const RequestId second = host.Add(Joined(shared, {2}), 4);
    for (int i = 0; i < 3; ++i) host.Step();
    EXPECT_EQ(host.counters().num_running, 1);
    if (by_failure) {
      host.FailNextRow(first);
    } else {
      host.scheduler().Cancel(first);
    }
    host.RunAll();
    EXPECT_EQ(*host.outcome(first).finish, by_failure ? FinishReason::kError : FinishReason::kCancelled);
    host.ExpectOracle(second);
    EXPECT_GT(host.outcome(second).num_cached_tokens, 0) << "what the dead one had sealed is used";
    host.ExpectAtRest();
  }
}

TEST(Scheduler, SlidingGroupsHoldTheirWindowOnly) {
  SimHost host(SmallConfig(400, {0, 64}));
  const RequestId id = host.Add(RandomTokens(1, 40), 2000);
  int32_t most = 0;
  while (host.Step()) most = std::max(most, host.counters().num_blocks_used);
  host.ExpectOracle(id);
  EXPECT_LE(most, (40 + 2000) / kPage + 1 + 64 / kPage + 2);
}

TEST(Scheduler, SlidingGroupsLetALongContextThroughASmallPool) {
  SchedulerConfig config = SmallConfig(5, {96});
  SimHost host(config);
  const RequestId id = host.Run(RandomTokens(1, 1000), 200);
  host.ExpectOracle(id);
  host.ExpectAtRest();
}

TEST(Scheduler, PriorityGoesFirstAndIsPreemptedLast) {
  SchedulerConfig config = SmallConfig(100);
  config.max_num_seqs = 1;
  SimHost host(config);
  GenerateRequest request;
  request.prompt = RandomTokens(1, 10);
  request.stop.max_tokens = 5;
  request.priority = 1;
  const RequestId low = host.Add(request);
  request.prompt = RandomTokens(2, 10);
  request.priority = 0;
  const RequestId normal = host.Add(request);
  request.prompt = RandomTokens(3, 10);
  request.priority = -1;
  const RequestId high = host.Add(request);
  host.RunAll();
  EXPECT_LT(host.outcome(high).times[0], host.outcome(normal).times.back());
  EXPECT_LE(host.outcome(high).times.back(), host.outcome(normal).times[0]);
  EXPECT_LE(host.outcome(normal).times.back(), host.outcome(low).times[0]);
}

TEST(Scheduler, DeadlineEndsWaitingAndRunningRequests) {
  SchedulerConfig config = SmallConfig(100);
  config.max_num_seqs = 1;
  FakeExecutorConfig device;
  device.ns_per_step = 1'000'000;
  SimHost host(config, device);
  GenerateRequest request;
  request.prompt = RandomTokens(1, 10);
  request.stop.max_tokens = 1000;
  request.deadline = host.now() + std::chrono::milliseconds(20);
  const RequestId running = host.Add(request);
  const RequestId waiting = host.Add(request);
  request.deadline = SteadyTime::max();
  request.stop.max_tokens = 30;
  const RequestId patient = host.Add(request);
  host.RunAll();
  for (const RequestId id : {running, waiting}) {
    EXPECT_EQ(*host.outcome(id).finish, FinishReason::kError);
    EXPECT_EQ(host.outcome(id).error.code(), StatusCode::kDeadlineExceeded);
  }
  EXPECT_GT(host.outcome(running).tokens.size(), 5U);
  EXPECT_TRUE(host.outcome(waiting).tokens.empty());
  host.ExpectOracle(patient);
  host.ExpectAtRest();
}

TEST(Scheduler, AFailedRowEndsItsRequestAlone) {
  SimHost host(SmallConfig(64));
  const auto shared = RandomTokens(1, 3 * kPage);
  const RequestId good = host.Add(Joined(shared, {1}), 20);
  const RequestId bad = host.Add(RandomTokens(8, 50), 20);
  host.Step();
  host.FailNextRow(bad);
  host.RunAll();
  EXPECT_EQ(*host.outcome(bad).finish, FinishReason::kError);
  EXPECT_EQ(host.outcome(bad).error.message(), "injected failure");
  host.ExpectOracle(good);
  host.ExpectAtRest();
}

TEST(Scheduler, ResumedOutputGoesOnExactly) {
  SimHost host(SmallConfig(64, {0, 48}));
  GenerateRequest request;
  request.prompt = RandomTokens(1, 70);
  request.stop.max_tokens = 200;
  request.sampling.num_prompt_logprobs = 0;
  std::vector<RequestId> ids;
  for (int i = 0; i < 3; ++i) {
    request.sampling.seed = static_cast<uint64_t>(i);
    ids.push_back(host.Add(request));
  }
  for (int i = 0; host.Step(); ++i) {
    if (i % 7 == 0) host.scheduler().PreemptYoungest();
  }
  for (const RequestId id : ids) host.ExpectOracle(id);
  EXPECT_GT(host.outcome(ids[2]).num_preemptions, 3);
  host.ExpectAtRest();
}

TEST(Scheduler, AShortPromptDoesNotWaitForTheEndOfALongOne) {
  SchedulerConfig config = SmallConfig(1000);
  config.max_num_batched_tokens = 128;
  SimHost host(config);
  const RequestId long_prompt = host.Add(RandomTokens(1, 10'000), 2);
  for (int i = 0; i < 3; ++i) host.Step();
  const RequestId short_prompt = host.Add(RandomTokens(2, 40), 2);
  int steps = 0;
  while (host.outcome(short_prompt).tokens.empty()) {
    host.Step();
    ++steps;
  }
  EXPECT_LE(steps, 5);
  EXPECT_TRUE(host.outcome(long_prompt).tokens.empty());
  host.RunAll();
  host.ExpectOracle(long_prompt);
}

TEST(Scheduler, OneStepCarriesAllStreams) {
  SimHost host(SmallConfig(200));
  for (uint64_t i = 0; i < 16; ++i) host.Add(RandomTokens(i, 10), 50);
  host.RunAll();
  EXPECT_EQ(host.max_rows_of_a_step(), 16);
}

}  // namespace
}  // namespace firebrick
