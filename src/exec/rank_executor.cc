#include "exec/rank_executor.h"

#include <algorithm>

#include "base/thread_name.h"
#include "exec/batch_builder.h"

namespace firebrick {
namespace {

// Logits held at once: enough for a step of 64 sequences; prompt log-probabilities want thousands of rows and
// get them in turns (128k tokens x 2048 rows would be 1 GiB).
constexpr int64_t kLogitRows = 64;

}  // namespace

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
  NameThread("fb-executor");
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
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    result.rows[i].slot = plan.rows[i].slot;
    result.rows[i].status = slots_.at(plan.rows[i].slot).failure;
  }
  if (!plan.rows.empty()) {
    if (const Status status = ComputeRows(plan, &result); !status.ok()) FailRows(plan, status, &result);
  }
  result.execute_ns =
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

void RankExecutor::FailRows(const StepPlan& plan, const Status& status, StepResult* result) {
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    slots_.at(plan.rows[i].slot).failure = status;
    result->rows[i].status = status;
  }
}

Status RankExecutor::ComputeRows(const StepPlan& plan, StepResult* result) {
  BuildInputBatch(plan, slots_, static_cast<int32_t>(store_.geometry().groups.size()), &batch_);
  ListWantedTokens(plan, result);
  const ForwardContext context{ops_, pool_, batch_, store_.geometry(), store_.base(), scratch_};
  RETURN_IF_ERROR(model_.Forward(context));

  const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
  const auto num_wanted = static_cast<int64_t>(wanted_.size());
  logits_.resize(
      std::max(logits_.size(), static_cast<size_t>(std::min(num_wanted, kLogitRows)) * vocab_size));
  for (int64_t first = 0; first < num_wanted; first += kLogitRows) {
    const int64_t count = std::min(kLogitRows, num_wanted - first);
    RETURN_IF_ERROR(model_.Logits(context, {first, first + count}, logits_.data()));
    const auto for_each = [&](auto&& act) {
      pool_.ParallelForChunks(count, 1, [&](int64_t begin, int64_t end, int32_t thread) {
        for (int64_t i = begin; i < end; ++i) {
          const WantedToken& wanted = wanted_[static_cast<size_t>(first + i)];
          act(plan.rows[wanted.row], wanted.token_in_row,
              logits_.data() + static_cast<size_t>(i) * vocab_size, samplers_[static_cast<size_t>(thread)],
              &result->rows[wanted.row]);
        }
      });
    };
    // Scores first: sampling lengthens the token list that they read.
    for_each([&](const StepRow& row, int32_t token, const float* logits, Sampler& sampler, RowResult* out) {
      if (row.wants_prompt_logprobs) ScorePrompt(row, token, logits, sampler, out);
    });
    for_each([&](const StepRow& row, int32_t token, const float* logits, Sampler& sampler, RowResult* out) {
      if (row.wants_token && token + 1 == row.num_tokens) SampleRow(row, logits, sampler, out);
    });
  }
  return OkStatus();
}

void RankExecutor::ListWantedTokens(const StepPlan& plan, StepResult* result) {
  wanted_.clear();
  for (size_t i = 0; i < plan.rows.size(); ++i) {
    const StepRow& row = plan.rows[i];
    if (row.wants_prompt_logprobs) {
      for (int32_t token = 0; token < row.num_tokens; ++token) wanted_.push_back({i, token});
      const int32_t num_scored =
          std::min(row.num_tokens, slots_.at(row.slot).num_prompt_tokens - 1 - row.first_position);
      result->rows[i].prompt_logprobs.resize(static_cast<size_t>(std::max(num_scored, 0)));
    } else if (row.wants_token) {
      wanted_.push_back({i, row.num_tokens - 1});
    }
  }
}

void RankExecutor::ScorePrompt(const StepRow& row, int32_t token_in_row, const float* logits,
                               Sampler& sampler, RowResult* result) {
  const auto at = static_cast<size_t>(token_in_row);
  if (at >= result->prompt_logprobs.size()) return;
  const SlotState& slot = slots_.at(row.slot);
  const auto vocab_size = static_cast<size_t>(model_.config().vocab_size);
  result->prompt_logprobs[at] =
      sampler.Logprob({logits, vocab_size}, slot.tokens[static_cast<size_t>(row.first_position) + at + 1],
                      slot.sampling.num_prompt_logprobs);
}

void RankExecutor::SampleRow(const StepRow& row, const float* logits, Sampler& sampler, RowResult* result) {
  SlotState& slot = slots_.at(row.slot);
  if (!slot.failure.ok()) return;
  auto sampled = sampler.Sample({logits, static_cast<size_t>(model_.config().vocab_size)}, slot);
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
