#include "sched/scheduler.h"

#include <algorithm>

namespace firebrick {

Scheduler::Scheduler(const SchedulerConfig& config)
    : config_(config),
      token_budget_(std::max(config.max_num_batched_tokens, config.max_num_seqs + kBlockTokens)),
      ledger_(config),
      pace_(config.target_step_ms) {
  CHECK_MSG(config.num_blocks > 0 && !config.groups.empty() && config.max_num_seqs > 0,
            "a scheduler needs blocks ({}), layer groups ({}) and slots ({})", config.num_blocks,
            config.groups.size(), config.max_num_seqs);
  for (int32_t i = config.max_num_seqs; i-- > 0;) free_slots_.emplace_back(static_cast<uint32_t>(i));
}

void Scheduler::Apply(StepResult* result, SteadyTime now) {
  now_ = now;
  CHECK_MSG(!in_flight_.empty() && in_flight_.front().step_id == result->step_id,
            "a result of step {} came out of order", result->step_id);
  StepInFlight step = std::move(in_flight_.front());
  in_flight_.pop_front();
  CHECK_MSG(step.rows.size() == result->rows.size(), "step {} has {} rows and {} results", step.step_id,
            step.rows.size(), result->rows.size());
  pace_.Observe(step.num_decodes, step.num_prefill_tokens, result->execute_ns);
  for (size_t i = 0; i < step.rows.size(); ++i) ApplyRow(step.rows[i], &result->rows[i]);
  step.rows.clear();
  step.num_decodes = 0;
  step.num_prefill_tokens = 0;
  spare_.push_back(std::move(step));
}

void Scheduler::ApplyRow(const PlannedRow& row, RowResult* result) {
  Sequence* seq = row.seq;
  --seq->num_in_flight;
  if (row.wants_token) --seq->num_sampling;
  if (seq->state == SequenceState::kFinished) {
    // A step that was planned before the end was known: its token does not exist.
    Settle(seq);
    return;
  }
  if (!result->status.ok()) {
    SequenceEvent* event = EmitEvent(seq);
    event->error = std::move(result->status);
    Finish(seq, event, FinishReason::kError);
    return;
  }
  seq->num_computed = row.end;
  ledger_.SealBlocks(seq);
  std::move(result->prompt_logprobs.begin(), result->prompt_logprobs.end(),
            std::back_inserter(seq->prompt_logprobs));
  if (row.wants_token) {
    if (AppendToken(seq, result)) return;
  } else if (seq->max_tokens == 0 && row.end == seq->num_prompt_tokens) {
    Finish(seq, EmitEvent(seq), FinishReason::kLength);
    return;
  }
  if (seq->state == SequenceState::kPreempted) Settle(seq);
}

// True: that was the last token; the sequence may be gone.
bool Scheduler::AppendToken(Sequence* seq, RowResult* result) {
  const int32_t token = result->token;
  const int32_t num_before = static_cast<int32_t>(seq->tokens.size()) - seq->num_prompt_tokens;
  seq->tokens.push_back(token);
  SequenceEvent* event = EmitEvent(seq);
  event->token = token;
  event->logprob = std::move(result->logprob);
  const auto& stops = seq->stop_token_ids;
  if (num_before >= seq->min_tokens && std::find(stops.begin(), stops.end(), token) != stops.end()) {
    event->matched_stop_token = token;
    Finish(seq, event, FinishReason::kStop);
    return true;
  }
  if (num_before + 1 < seq->max_tokens) return false;
  Finish(seq, event, FinishReason::kLength);
  return true;
}

SequenceEvent* Scheduler::EmitEvent(Sequence* seq) {
  SequenceEvent& event = events_.emplace_back();
  event.id = seq->id;
  event.time = now_;
  event.num_cached_tokens = seq->num_cached_tokens;
  event.num_preemptions = seq->num_preemptions;
  if (seq->was_admitted) event.first_planned = seq->first_planned;
  if (!seq->prompt_logprobs.empty() && seq->num_computed >= seq->num_prompt_tokens) {
    event.prompt_logprobs = std::move(seq->prompt_logprobs);
    seq->prompt_logprobs.clear();
    seq->sent_prompt_logprobs = true;
  }
  return &event;
}

SchedulerCounters Scheduler::Counters() const {
  SchedulerCounters counters = counters_;
  counters.num_running = static_cast<int32_t>(running_.size());
  counters.num_waiting = static_cast<int32_t>(waiting_.size());
  counters.num_blocks = ledger_.pool().num_blocks();
  counters.num_blocks_used = ledger_.pool().num_live();
  counters.num_blocks_cached = ledger_.pool().num_cached();
  return counters;
}

}  // namespace firebrick
