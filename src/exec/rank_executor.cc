#include "exec/rank_executor.h"

#include "exec/batch_builder.h"

namespace firebrick {

RankExecutor::RankExecutor(const Model& model, const Ops& ops, ThreadPool& pool, KvStore store,
                           Options options)
    : model_(model),
      ops_(ops),
      pool_(pool),
      options_(options),
      store_(std::move(store)),
      slots_(options.num_slots, static_cast<int32_t>(store_.geometry().groups.size())),
      plans_(static_cast<size_t>(options.depth)),
      results_(static_cast<size_t>(options.depth)) {
  const int32_t num_tokens = options_.num_sampled_tokens > 0
                                 ? std::min(options_.num_sampled_tokens, model_.config().vocab_size)
                                 : model_.config().vocab_size;
  for (int32_t i = 0; i < pool_.num_threads(); ++i) samplers_.emplace_back(ops_, num_tokens);
  thread_ = std::thread([this] { Loop(); });
}

RankExecutor::~RankExecutor() {
  plans_.Close();
  thread_.join();
}

void RankExecutor::Submit(StepPlan plan) {
  CHECK_MSG(plans_.TryPush(std::move(plan)), "more than {} steps in flight", options_.depth);
}

std::optional<StepResult> RankExecutor::Collect(std::chrono::steady_clock::time_point deadline) {
  return results_.PopUntil(deadline);
}

void RankExecutor::Loop() {
  const FlushDenormals flush_denormals;
  while (auto plan = plans_.Pop()) {
    StepResult result = Execute(*plan);
    result.plan = std::move(*plan);
    CHECK(results_.TryPush(std::move(result)));
  }
}

StepResult RankExecutor::Execute(const StepPlan& plan) {
  const auto begin = std::chrono::steady_clock::now();
  slots_.Apply(plan);
  for (const BlockId block : plan.zeroed) store_.ZeroValues(block);
  StepResult result;
  result.step_id = plan.step_id;
  result.rows.resize(plan.rows.size());
  if (!plan.rows.empty()) {
    BuildInputBatch(plan, slots_, static_cast<int32_t>(store_.geometry().groups.size()), &batch_);
    const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
    if (logits_.size() < batch_.logit_tokens.size() * vocab_size) {
      logits_.resize(batch_.logit_tokens.size() * vocab_size);
    }
    const Status status =
        model_.Forward({ops_, pool_, batch_, store_.geometry(), store_.base(), scratch_, logits_.data()});
    if (status.ok()) {
      SampleRows(plan, &result);
    } else {
      FailRows(plan, status, &result);
    }
  }
  result.execute_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

void RankExecutor::FailRows(const StepPlan& plan, const Status& status, StepResult* result) {
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    slots_.at(plan.rows[i].slot).failure = status;
    result->rows[i].slot = plan.rows[i].slot;
    result->rows[i].status = status;
  }
}

void RankExecutor::SampleRows(const StepPlan& plan, StepResult* result) {
  first_logit_rows_.clear();
  size_t next = 0;
  for (const StepRow& row : plan.rows) {
    first_logit_rows_.push_back(next);
    next += row.wants_prompt_logprobs ? static_cast<size_t>(row.num_tokens) : (row.wants_token ? 1 : 0);
  }
  pool_.ParallelFor(static_cast<int64_t>(plan.rows.size()), [&](int64_t begin, int64_t end, int32_t thread) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      SampleRow(plan.rows[at], first_logit_rows_[at], samplers_[static_cast<size_t>(thread)],
                &result->rows[at]);
    }
  });
}

void RankExecutor::SampleRow(const StepRow& row, size_t first_logit_row, Sampler& sampler,
                             RowResult* result) {
  SlotState& slot = slots_.at(row.slot);
  result->slot = row.slot;
  const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
  const auto logits_of = [&](size_t logit_row) {
    return std::span<const float>(logits_.data() + logit_row * vocab_size, vocab_size);
  };
  size_t last = first_logit_row;
  if (row.wants_prompt_logprobs) {
    last += static_cast<size_t>(row.num_tokens) - 1;
    for (int32_t i = 0; i < row.num_tokens; ++i) {
      const int32_t next = row.first_position + i + 1;
      if (next >= slot.num_prompt_tokens) break;
      result->prompt_logprobs.push_back(sampler.Logprob(logits_of(first_logit_row + static_cast<size_t>(i)),
                                                        slot.tokens[static_cast<size_t>(next)],
                                                        slot.sampling.num_prompt_logprobs));
    }
  }
  if (!row.wants_token) return;
  if (!slot.failure.ok()) {
    result->status = slot.failure;
    return;
  }
  auto sampled = sampler.Sample(logits_of(last), slot);
  if (!sampled.ok()) {
    slot.failure = sampled.status();
    result->status = slot.failure;
    return;
  }
  result->token = sampled->token;
  result->logprob = std::move(sampled->logprob);
  slot.AppendOutput(result->token);
}

}  // namespace firebrick
