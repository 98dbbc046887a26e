#include "sim_host.h"

#include <functional>
#include <random>

#include <gtest/gtest.h>

namespace firebrick {

SimHost::SimHost(SchedulerConfig config, FakeExecutorConfig device)
    : config_(std::move(config)), device_(std::move(device)) {
  if (device_.ns_per_step == 0) device_.ns_per_step = 1'000'000;
  device_.num_blocks = config_.num_blocks;
  device_.groups = config_.groups;
  device_.max_num_seqs = config_.max_num_seqs;
  FakeExecutorHooks hooks;
  hooks.domain = [this](RequestId id) { return domains_.at(id); };
  hooks.fails = [this](RequestId id, int32_t) { return id == doomed_; };
  scheduler_ = std::make_unique<Scheduler>(config_);
  executor_ = std::make_unique<FakeExecutor>(device_, hooks);
}

RequestId SimHost::Add(GenerateRequest request) {
  request.id = RequestId(next_id_++);
  const Status status = ValidateRequest(config_, request);
  EXPECT_TRUE(status.ok()) << status.ToString();
  domains_[request.id] = std::hash<std::string>()(request.cache_salt);
  outcomes_[request.id].request = request;
  const RequestId id = request.id;
  scheduler_->Add(std::move(request));
  return id;
}

RequestId SimHost::Add(std::vector<int32_t> prompt, int32_t max_tokens) {
  GenerateRequest request;
  request.prompt = std::move(prompt);
  request.stop.max_tokens = max_tokens;
  return Add(std::move(request));
}

RequestId SimHost::Run(std::vector<int32_t> prompt, int32_t max_tokens) {
  const RequestId id = Add(std::move(prompt), max_tokens);
  RunAll();
  return id;
}

bool SimHost::Step() {
  bool did_something = false;
  while (executor_->num_in_flight() < executor_->depth() && scheduler_->Plan(now_, &plan_)) {
    max_rows_ = std::max(max_rows_, static_cast<int32_t>(plan_.rows.size()));
    num_computed_tokens_ += plan_.num_tokens();
    executor_->Submit(std::move(plan_));
    did_something = true;
  }
  if (auto result = executor_->Collect(now_)) {
    now_ += std::chrono::nanoseconds(result->execute_ns);
    scheduler_->Apply(&*result, now_);
    plan_ = std::move(result->plan);
    did_something = true;
  }
  TakeEvents();
  const Status status = scheduler_->Verify();
  EXPECT_TRUE(status.ok()) << status.ToString();
  EXPECT_TRUE(executor_->violations().empty()) << executor_->violations().front();
  return did_something;
}

void SimHost::RunAll() {
  while (Step()) {
  }
  EXPECT_FALSE(scheduler_->HasWork()) << "work is left and nothing moves";
}

void SimHost::TakeEvents() {
  for (SequenceEvent& event : scheduler_->events()) {
    Outcome& outcome = outcomes_.at(event.id);
    EXPECT_FALSE(outcome.finish.has_value()) << "an event behind the end";
    if (event.token >= 0) {
      outcome.tokens.push_back(event.token);
      outcome.times.push_back(event.time);
    }
    std::move(event.prompt_logprobs.begin(), event.prompt_logprobs.end(),
              std::back_inserter(outcome.prompt_logprobs));
    outcome.finish = event.finish;
    outcome.error = event.error;
    outcome.num_cached_tokens = event.num_cached_tokens;
    outcome.num_preemptions = event.num_preemptions;
  }
  scheduler_->events().clear();
}

void SimHost::ExpectOracle(RequestId id) const {
  const Outcome& outcome = outcomes_.at(id);
  const FakeAnswer answer = ExpectAnswer(outcome.request, domains_.at(id), device_.vocab_size);
  EXPECT_EQ(outcome.tokens, answer.tokens) << "request " << id.value();
  ASSERT_TRUE(outcome.finish.has_value());
  EXPECT_EQ(*outcome.finish, answer.finish);
  ASSERT_EQ(outcome.prompt_logprobs.size(), answer.prompt_logprobs.size());
  for (size_t i = 0; i < answer.prompt_logprobs.size(); ++i) {
    EXPECT_EQ(outcome.prompt_logprobs[i].token, answer.prompt_logprobs[i].token);
    EXPECT_EQ(outcome.prompt_logprobs[i].logprob, answer.prompt_logprobs[i].logprob);
  }
}

void SimHost::ExpectAtRest() const {
  const SchedulerCounters counters = scheduler_->Counters();
  EXPECT_EQ(counters.num_running, 0);
  EXPECT_EQ(counters.num_waiting, 0);
  EXPECT_EQ(counters.num_blocks_used, 0);
  EXPECT_FALSE(scheduler_->HasWork());
}

std::vector<int32_t> RandomTokens(uint64_t seed, int32_t count) {
  std::mt19937_64 random(seed);
  std::vector<int32_t> tokens;
  for (int32_t i = 0; i < count; ++i) tokens.push_back(static_cast<int32_t>(random() % 101));
  return tokens;
}

std::vector<int32_t> Joined(std::vector<int32_t> head, const std::vector<int32_t>& tail) {
  head.insert(head.end(), tail.begin(), tail.end());
  return head;
}

SchedulerConfig SmallConfig(int32_t num_blocks, std::vector<int32_t> windows) {
  SchedulerConfig config;
  config.num_blocks = num_blocks;
  for (const int32_t window : windows) config.groups.push_back({{0}, window});
  config.max_model_len = 20'000;
  config.max_num_seqs = 16;
  config.max_num_batched_tokens = 512;
  config.target_step_ms = 0;
  return config;
}

}  // namespace firebrick
