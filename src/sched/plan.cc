// Scheduler: how a step is put together.
#include <algorithm>

#include "sched/scheduler.h"

namespace firebrick {

namespace {

// A part of `left` for a prefill of `remaining` tokens. One that does not end with this step takes half while
// others stand behind it: a short prompt does not wait for the end of a long one, and the oldest still gets
// the largest part.
int32_t ShareOf(int32_t left, int32_t remaining, bool others_behind) {
  if (remaining <= left || !others_behind) return std::min(left, remaining);
  return std::min(left, std::max(kBlockTokens, left / 2));
}

// Chunks end at block borders where they can, so that blocks are sealed early. Chunks of less than two blocks
// would lose too much of themselves.
int32_t AlignChunk(const Sequence& seq, int32_t num_tokens) {
  if (num_tokens >= seq.to_plan() || num_tokens < 2 * kBlockTokens) return num_tokens;
  const int32_t aligned = (seq.num_planned + num_tokens) / kBlockTokens * kBlockTokens - seq.num_planned;
  return aligned > 0 ? aligned : num_tokens;
}

}  // namespace

bool Scheduler::Plan(SteadyTime now, StepPlan* plan) {
  now_ = now;
  plan->Clear();
  ExpireDeadlines(now);
  if (running_.empty() && waiting_.empty()) return false;
  plan->step_id = step_id_ + 1;
  is_building_ = true;
  building_.step_id = plan->step_id;
  PlanDecodes(plan);
  PlanPrefills(plan);
  is_building_ = false;
  if (plan->rows.empty()) {
    plan->Clear();
    return false;
  }
  ++step_id_;
  ++counters_.num_steps;
  plan->closed.swap(closed_slots_);
  for (const SeqSlot slot : late_slots_) {
    free_slots_.push_back(slot);
    closed_slots_.push_back(slot);
  }
  late_slots_.clear();
  in_flight_.push_back(std::move(building_));
  if (spare_.empty()) {
    building_ = StepInFlight();
  } else {
    building_ = std::move(spare_.back());
    spare_.pop_back();
  }
  return true;
}

void Scheduler::PlanDecodes(StepPlan* plan) {
  // By index: making room takes sequences out of running_, always behind the current one.
  for (size_t i = 0; i < running_.size(); ++i) {
    Sequence* seq = running_[i];
    if (seq->to_plan() != 1 || MakeRoom(seq, 1) == 0) continue;
    PlanRow(seq, 1, plan);
    ++building_.num_decodes;
  }
}

void Scheduler::PlanPrefills(StepPlan* plan) {
  int32_t left =
      std::min(token_budget_ - building_.num_decodes, pace_.MaxPrefillTokens(building_.num_decodes));
  shares_.clear();
  ShareAmongRunning(&left);
  ShareAmongWaiting(&left, now_);
  for (Share& share : shares_) {
    const int32_t more = std::min(left, share.seq->to_plan() - share.num_tokens);
    share.num_tokens += more;
    left -= more;
  }
  for (const Share& share : shares_) {
    if (share.seq->state != SequenceState::kRunning) continue;  // made room for one before it
    const int32_t num_tokens = MakeRoom(share.seq, AlignChunk(*share.seq, share.num_tokens));
    if (num_tokens == 0) continue;
    PlanRow(share.seq, num_tokens, plan);
    building_.num_prefill_tokens += num_tokens;
  }
}

// The first in the order of service gets the first share, then those that are nearest to their end.
void Scheduler::ShareAmongRunning(int32_t* left) {
  for (Sequence* seq : running_) {
    if (seq->to_plan() > 1) shares_.push_back({seq, 0});
  }
  if (shares_.empty()) return;
  std::stable_sort(shares_.begin() + 1, shares_.end(),
                   [](const Share& a, const Share& b) { return a.seq->to_plan() < b.seq->to_plan(); });
  for (size_t i = 0; i < shares_.size(); ++i) {
    const bool others_behind = i + 1 < shares_.size() || !waiting_.empty();
    shares_[i].num_tokens = ShareOf(*left, shares_[i].seq->to_plan(), others_behind);
    *left -= shares_[i].num_tokens;
  }
  std::erase_if(shares_, [](const Share& share) { return share.num_tokens == 0; });
}

void Scheduler::ShareAmongWaiting(int32_t* left, SteadyTime now) {
  for (size_t i = 0; i < waiting_.size() && *left > 0;) {
    Sequence* seq = waiting_[i];
    const Admission admission = TryAdmit(seq, now);
    if (admission == Admission::kFull) return;
    if (admission == Admission::kSkipped) {
      ++i;
      continue;
    }
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    const int32_t num_tokens = ShareOf(*left, seq->to_plan(), i < waiting_.size());
    shares_.push_back({seq, num_tokens});
    *left -= num_tokens;
  }
}

// Blocks for up to num_tokens more tokens of `seq`: from the pool, or else from those that rank behind it.
// 0: not now. Forward progress: the first in the order of service can take from all others, and when none is
// left, it has the pool alone, which ValidateRequest found large enough.
int32_t Scheduler::MakeRoom(Sequence* seq, int32_t num_tokens) {
  ledger_.Trim(seq);
  while (true) {
    const int32_t fits = ledger_.TokensThatFit(*seq);
    if (fits > 0) return std::min(fits, num_tokens);
    if (num_draining_ > 0) return 0;  // blocks are on their way back; preempting more would be waste
    Sequence* victim = FindVictim(*seq);
    if (victim == nullptr) return 0;
    Preempt(victim);
  }
}

void Scheduler::PlanRow(Sequence* seq, int32_t num_tokens, StepPlan* plan) {
  if (!seq->slot_is_open) {
    seq->slot_is_open = true;
    plan->opened.push_back({seq->slot, seq->id, seq->sampling, seq->stop_token_ids, seq->min_tokens,
                            seq->tokens, seq->num_prompt_tokens});
    ledger_.Announce(seq, plan);
  }
  for (size_t g = 0; g < seq->tables.size(); ++g) {
    BlockTable& table = seq->tables[g];
    if (table.announced_first_idx == table.first_block_idx) continue;
    table.announced_first_idx = table.first_block_idx;
    plan->trimmed.push_back({seq->slot, static_cast<uint16_t>(g), table.first_block_idx});
  }
  CHECK(ledger_.TryExtend(num_tokens, seq, plan));
  StepRow row;
  row.slot = seq->slot;
  row.first_position = seq->num_planned;
  row.num_tokens = num_tokens;
  row.id_from_slot = seq->num_planned >= static_cast<int32_t>(seq->tokens.size());
  const int32_t end = seq->num_planned + num_tokens;
  row.wants_token = end == seq->length() && seq->max_tokens > 0;
  row.wants_prompt_logprobs = seq->wants_prompt_logprobs() && seq->num_planned + 1 < seq->num_prompt_tokens;
  if (!row.id_from_slot) {
    row.token_offset = static_cast<int32_t>(plan->token_ids.size());
    plan->token_ids.insert(plan->token_ids.end(), seq->tokens.begin() + seq->num_planned,
                           seq->tokens.begin() + end);
  }
  plan->rows.push_back(row);
  building_.rows.push_back({seq, end, row.wants_token});
  seq->num_planned = end;
  seq->num_sampling += row.wants_token ? 1 : 0;
  ++seq->num_in_flight;
  seq->last_row_step = plan->step_id;
}

}  // namespace firebrick
