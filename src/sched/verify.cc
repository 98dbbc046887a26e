// Scheduler: the invariants of docs/contracts/kv.md, checked.
#include <algorithm>
#include <unordered_map>

#include "sched/scheduler.h"

namespace firebrick {

namespace {

Status Broken(RequestId id, const char* what) {
  return MakeError(StatusCode::kInternal, "sequence {}: {}", id.value(), what);
}

Status VerifySequence(const Sequence& seq, size_t num_groups, int32_t num_rows_in_flight) {
  if (seq.num_in_flight != num_rows_in_flight) return Broken(seq.id, "its rows in flight are miscounted");
  // A finished one drops the tokens of steps in flight.
  if (seq.state != SequenceState::kFinished &&
      (seq.num_computed > seq.num_planned || seq.num_planned > seq.length())) {
    return Broken(seq.id, "its progress runs backwards");
  }
  for (const BlockTable& table : seq.tables) {
    if (table.first_block_idx + static_cast<int32_t>(table.blocks.size()) != seq.end_block_idx) {
      return Broken(seq.id, "its block tables do not end together");
    }
  }
  const bool holds_blocks = seq.state != SequenceState::kWaiting;
  if (!holds_blocks && (!seq.tables.empty() || seq.num_in_flight != 0)) {
    return Broken(seq.id, "it waits and holds blocks");
  }
  if (seq.state == SequenceState::kRunning &&
      (seq.tables.size() != num_groups || seq.end_block_idx * kBlockTokens < seq.num_planned)) {
    return Broken(seq.id, "its blocks do not cover what was planned");
  }
  return OkStatus();
}

}  // namespace

Status Scheduler::Verify() const {
  std::unordered_map<const Sequence*, int32_t> rows_in_flight;
  for (const StepInFlight& step : in_flight_) {
    for (const PlannedRow& row : step.rows) ++rows_in_flight[row.seq];
  }
  std::vector<int32_t> references(static_cast<size_t>(config_.num_blocks), 0);
  std::vector<int32_t> slot_users(static_cast<size_t>(config_.max_num_seqs), 0);
  size_t num_running = 0;
  size_t num_waiting = 0;
  for (const auto& [id, seq] : sequences_) {
    RETURN_IF_ERROR(VerifySequence(*seq, config_.groups.size(), rows_in_flight[seq.get()]));
    for (const BlockTable& table : seq->tables) {
      for (const BlockId block : table.blocks) ++references[block.value()];
    }
    if (seq->slot.valid()) ++slot_users[seq->slot.value()];
    num_running += seq->state == SequenceState::kRunning;
    num_waiting += seq->state == SequenceState::kWaiting;
  }
  for (const SeqSlot slot : free_slots_) ++slot_users[slot.value()];
  if (std::any_of(slot_users.begin(), slot_users.end(), [](int32_t users) { return users != 1; })) {
    return Status(StatusCode::kInternal, "a slot is lost or has two users");
  }
  if (num_running != running_.size() || num_waiting != waiting_.size() ||
      sequences_.size() != num_running + num_waiting + static_cast<size_t>(num_draining_)) {
    return Status(StatusCode::kInternal, "the lists of sequences do not fit their states");
  }
  const auto rank = [](const Sequence* a, const Sequence* b) { return RanksBefore(*a, *b); };
  if (!std::is_sorted(running_.begin(), running_.end(), rank) ||
      !std::is_sorted(waiting_.begin(), waiting_.end(), rank)) {
    return Status(StatusCode::kInternal, "the order of service is broken");
  }
  RETURN_IF_ERROR(ledger_.index().Verify());
  return ledger_.pool().Verify(references);
}

}  // namespace firebrick
