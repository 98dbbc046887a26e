// Scheduler: how sequences leave: preempted, finished, cancelled, expired.
#include <algorithm>

#include "sched/scheduler.h"

namespace firebrick {

// Of those with the lowest priority that rank behind `seq`: the one with the fewest tokens to restore, the
// youngest of equals. Never one that ranks before: so the first in the order of service always moves on.
Sequence* Scheduler::FindVictim(const Sequence& seq) const {
  Sequence* victim = nullptr;
  for (auto it = running_.rbegin(); it != running_.rend(); ++it) {
    Sequence* candidate = *it;
    if (candidate->priority != running_.back()->priority || !RanksBefore(seq, *candidate)) break;
    if (victim == nullptr || candidate->num_planned < victim->num_planned) victim = candidate;
  }
  return victim;
}

// Its tokens so far become what it has to compute when it is admitted again; sampling is keyed by position,
// so its output goes on as if nothing had happened. Sealed blocks stay indexed until they are evicted.
void Scheduler::Preempt(Sequence* seq) {
  ++counters_.num_preemptions;
  ++seq->num_preemptions;
  LeaveSlot(seq);
  seq->state = SequenceState::kPreempted;
  ++num_draining_;
  Settle(seq);
}

bool Scheduler::PreemptYoungest() {
  if (running_.empty()) return false;
  Preempt(running_.back());
  return true;
}

void Scheduler::LeaveSlot(Sequence* seq) {
  std::erase(running_, seq);
  if (!seq->slot_is_open) {
    free_slots_.push_back(seq->slot);
  } else if (is_building_ && seq->last_row_step == building_.step_id) {
    late_slots_.push_back(seq->slot);
  } else {
    free_slots_.push_back(seq->slot);
    closed_slots_.push_back(seq->slot);
  }
  seq->slot = SeqSlot();
  seq->slot_is_open = false;
}

void Scheduler::Cancel(RequestId id) {
  const auto found = sequences_.find(id);
  if (found == sequences_.end() || found->second->state == SequenceState::kFinished) return;
  Sequence* seq = found->second.get();
  Finish(seq, EmitEvent(seq), FinishReason::kCancelled);
}

void Scheduler::CancelAll() {
  std::vector<RequestId> ids;
  for (const auto& [id, seq] : sequences_) ids.push_back(id);
  for (const RequestId id : ids) Cancel(id);
}

void Scheduler::Finish(Sequence* seq, SequenceEvent* event, FinishReason reason) {
  event->finish = reason;
  if (seq->state == SequenceState::kWaiting) {
    std::erase(waiting_, seq);
    ++num_draining_;
  } else if (seq->state == SequenceState::kRunning) {
    LeaveSlot(seq);
    ++num_draining_;
  }
  seq->state = SequenceState::kFinished;
  Settle(seq);
}

// The last act of a sequence that left its slot, once no step in flight sees its blocks.
void Scheduler::Settle(Sequence* seq) {
  if (seq->num_in_flight > 0) return;
  --num_draining_;
  ledger_.ReleaseAll(seq);
  if (seq->state == SequenceState::kFinished) {
    sequences_.erase(seq->id);
    return;
  }
  seq->num_computed = 0;
  seq->num_planned = 0;
  if (!seq->sent_prompt_logprobs) seq->prompt_logprobs.clear();
  InsertWaiting(seq);
}

void Scheduler::ExpireDeadlines(SteadyTime now) {
  if (now < next_deadline_) return;
  std::vector<Sequence*> expired;
  next_deadline_ = SteadyTime::max();
  for (const auto& [id, seq] : sequences_) {
    if (seq->state == SequenceState::kFinished) continue;
    if (seq->deadline <= now) {
      expired.push_back(seq.get());
    } else {
      next_deadline_ = std::min(next_deadline_, seq->deadline);
    }
  }
  for (Sequence* seq : expired) {
    SequenceEvent* event = EmitEvent(seq);
    event->error =
        Status(StatusCode::kDeadlineExceeded,
               "the deadline of the request passed before it was finished; allow more time or ask for less");
    Finish(seq, event, FinishReason::kError);
  }
}

}  // namespace firebrick
