#include "cli/bench_steps.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "cli/bench_machine.h"

namespace firebrick {

using Clock = std::chrono::steady_clock;

Result<BenchSteps> BenchSteps::Start(const LoadedModel& loaded, int32_t num_streams, int32_t length) {
  const KvGeometry geometry = loaded.model->MakeKvGeometry(loaded.kv_dtype);
  const int32_t num_blocks = num_streams * static_cast<int32_t>(geometry.groups.size()) *
                             ((length + kBlockTokens - 1) / kBlockTokens);
  ASSIGN_OR_RETURN(auto executor, StartExecutor(loaded, num_blocks, num_streams));
  return BenchSteps(loaded, std::move(executor), length);
}

BenchSteps::BenchSteps(const LoadedModel& loaded, std::unique_ptr<RankExecutor> executor, int32_t length)
    : executor_(std::move(executor)),
      num_groups_(static_cast<int32_t>(loaded.model->MakeKvGeometry(loaded.kv_dtype).groups.size())),
      blocks_per_stream_((length + kBlockTokens - 1) / kBlockTokens),
      vocab_size_(std::min(loaded.tokenizer.vocab_size(), loaded.model->config().vocab_size)) {}

double BenchSteps::Prefill(int32_t num_streams, int32_t prompt, int32_t chunk) {
  const auto begin = Clock::now();
  for (int32_t stream = 0; stream < num_streams; ++stream) {
    for (int32_t done = 0; done < prompt; done += chunk) {
      StepPlan plan;
      if (done == 0) Open(stream, prompt, &plan);
      const int32_t count = std::min(chunk, prompt - done);
      plan.rows.push_back({.slot = SeqSlot(static_cast<uint32_t>(stream)),
                           .first_position = done,
                           .num_tokens = count,
                           .wants_token = done + count == prompt});
      for (int32_t i = 0; i < count; ++i) plan.token_ids.push_back(PromptToken(stream, done + i));
      Step(std::move(plan));
    }
  }
  return SecondsSince(begin);
}

void BenchSteps::OpenUnwritten(int32_t num_streams) {
  StepPlan plan;
  for (int32_t stream = 0; stream < num_streams; ++stream) Open(stream, 1, &plan);
  Step(std::move(plan));
}

double BenchSteps::Decode(int32_t num_streams, int32_t context, int32_t gen) {
  const auto begin = Clock::now();
  for (int32_t i = 0; i < gen; ++i) {
    StepPlan plan;
    for (int32_t stream = 0; stream < num_streams; ++stream) {
      plan.rows.push_back({.slot = SeqSlot(static_cast<uint32_t>(stream)),
                           .first_position = context + i,
                           .num_tokens = 1,
                           .id_from_slot = true,
                           .wants_token = true});
    }
    Step(std::move(plan));
  }
  return SecondsSince(begin);
}

void BenchSteps::CloseAll(int32_t num_streams) {
  StepPlan plan;
  for (int32_t stream = 0; stream < num_streams; ++stream) {
    plan.closed.push_back(SeqSlot(static_cast<uint32_t>(stream)));
  }
  Step(std::move(plan));
}

int32_t BenchSteps::PromptToken(int32_t stream, int32_t position) const {
  return static_cast<int32_t>((static_cast<int64_t>(position) * 7919 + stream * 104729 + 17) % vocab_size_);
}

void BenchSteps::Open(int32_t stream, int32_t prompt, StepPlan* plan) const {
  const SeqSlot slot(static_cast<uint32_t>(stream));
  SlotOpen open;
  open.slot = slot;
  open.sampling.temperature = 0;
  open.num_prompt_tokens = prompt;
  for (int32_t i = 0; i < prompt; ++i) open.tokens.push_back(PromptToken(stream, i));
  plan->opened.push_back(std::move(open));
  for (int32_t group = 0; group < num_groups_; ++group) {
    for (int32_t i = 0; i < blocks_per_stream_; ++i) {
      const int32_t block = (stream * num_groups_ + group) * blocks_per_stream_ + i;
      plan->appended.push_back(
          {slot, static_cast<uint16_t>(group), i, BlockId(static_cast<uint32_t>(block))});
    }
  }
}

void BenchSteps::Step(StepPlan plan) {
  executor_->Submit(std::move(plan));
  const auto result = executor_->Collect(Clock::time_point::max());
  CHECK(result.has_value());
  for (const RowResult& row : result->rows) {
    if (!row.status.ok()) error_ = row.status;
  }
}

}  // namespace firebrick
