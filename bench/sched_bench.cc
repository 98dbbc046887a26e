// What scheduling costs per step: Plan plus Apply, without a device. The goal is <= 50 us for 64 decodes.
#include <chrono>

#include <benchmark/benchmark.h>

#include "sched/scheduler.h"

namespace firebrick {
namespace {

SchedulerConfig BenchConfig(int32_t num_seqs, const std::vector<int32_t>& windows) {
  SchedulerConfig config;
  config.num_blocks = 200'000;
  for (const int32_t window : windows) config.groups.push_back({{0}, window});
  config.max_model_len = 1 << 20;
  config.max_num_seqs = num_seqs;
  config.max_num_batched_tokens = 8192;
  config.target_step_ms = 0;
  config.key_root = {1};
  return config;
}

// A device that answers at once, with the token 7 for every row that wants one.
void Answer(StepPlan* plan, StepResult* result) {
  result->step_id = plan->step_id;
  result->execute_ns = 1000;
  result->rows.clear();
  for (const StepRow& row : plan->rows) {
    RowResult& out = result->rows.emplace_back();
    out.slot = row.slot;
    if (row.wants_token) out.token = 7;
  }
}

// One step; returns the seconds spent in Plan and Apply.
double RunStep(Scheduler* scheduler, StepPlan* plan, StepResult* result) {
  using Clock = std::chrono::steady_clock;
  const auto begin = Clock::now();
  CHECK(scheduler->Plan({}, plan));
  const auto planned = Clock::now();
  Answer(plan, result);
  const auto answered = Clock::now();
  scheduler->Apply(result, {});
  const auto end = Clock::now();
  scheduler->events().clear();
  return std::chrono::duration<double>((planned - begin) + (end - answered)).count();
}

void Decode(benchmark::State& state, const std::vector<int32_t>& windows) {
  const auto num_seqs = static_cast<int32_t>(state.range(0));
  Scheduler scheduler(BenchConfig(num_seqs, windows));
  for (int32_t i = 0; i < num_seqs; ++i) {
    GenerateRequest request;
    request.id = RequestId(static_cast<uint64_t>(i));
    request.prompt.assign(512, i);
    request.stop.max_tokens = 1'000'000;
    request.stop.stop_token_ids = {1, 2};
    scheduler.Add(std::move(request));
  }
  StepPlan plan;
  StepResult result;
  for (int i = 0; i < 20; ++i) RunStep(&scheduler, &plan, &result);  // past the prompts
  for (auto _ : state) state.SetIterationTime(RunStep(&scheduler, &plan, &result));
  state.SetLabel("Plan + Apply, one step");
}

void DecodeFull(benchmark::State& state) { Decode(state, {0}); }
void DecodeSliding(benchmark::State& state) { Decode(state, {0, 512, 512, 512, 512, 512}); }
BENCHMARK(DecodeFull)->Arg(1)->Arg(16)->Arg(64)->Arg(256)->UseManualTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(DecodeSliding)->Arg(64)->UseManualTime()->Unit(benchmark::kMicrosecond);

// Taking up a prompt of 100k tokens that is cached up to its last block: hashing, look-up, sharing, release.
void AdmitLongCachedPrompt(benchmark::State& state) {
  Scheduler scheduler(BenchConfig(4, {0}));
  StepPlan plan;
  StepResult result;
  uint64_t id = 0;
  const auto run = [&] {
    GenerateRequest request;
    request.id = RequestId(id++);
    request.prompt.assign(100'000, 3);
    request.stop.max_tokens = 1;
    scheduler.Add(std::move(request));
    while (scheduler.HasWork()) RunStep(&scheduler, &plan, &result);
  };
  run();
  for (auto _ : state) run();
}
BENCHMARK(AdmitLongCachedPrompt)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace firebrick

BENCHMARK_MAIN();
