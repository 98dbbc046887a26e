// Scheduler: which tokens each step computes, and what its results mean. Owns sequences, slots and blocks.
// Thread: engine thread. Contract: docs/contracts/engine_loop.md.
//
// One request is "tokens still to compute": prefill, chunk, decode, prefix hit and resumption are one case. A
// step takes decodes first, then prefill chunks under the token and time budget, all in the order (priority,
// arrival). Steps may be planned before the results of earlier ones are known.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <unordered_map>
#include <vector>

#include "api/request.h"
#include "base/status.h"
#include "sched/block_ledger.h"
#include "sched/prefill_pace.h"
#include "sched/scheduler_config.h"
#include "sched/sequence.h"
#include "sched/sequence_event.h"
#include "step/step_plan.h"
#include "step/step_result.h"

namespace firebrick {

struct SchedulerCounters {
  int32_t num_running = 0;
  int32_t num_waiting = 0;  // preempted ones included
  int32_t num_blocks = 0;
  int32_t num_blocks_used = 0;
  int32_t num_blocks_cached = 0;
  uint64_t prompt_tokens = 0;   // of admitted requests
  uint64_t prefix_queries = 0;  // prompt tokens looked up, once per request
  uint64_t prefix_hits = 0;     // of them, found
  uint64_t num_preemptions = 0;
  uint64_t num_steps = 0;
};

// Whether a request can ever run: kInvalidArgument names the number that is too large. Any thread.
Status ValidateRequest(const SchedulerConfig& config, const GenerateRequest& request);

class Scheduler {
 public:
  explicit Scheduler(const SchedulerConfig& config);

  // Queues a request that ValidateRequest accepts, with an id that is new.
  void Add(GenerateRequest request);
  // Ends a sequence; its blocks are free when the steps in flight that see them are applied. Unknown ids are
  // ignored.
  void Cancel(RequestId id);
  void CancelAll();
  // Builds the next step in `plan` (emptied first). False: there is nothing to run before a result, a request
  // or a deadline comes. After true the plan must be executed, in the order of Plan calls.
  bool Plan(SteadyTime now, StepPlan* plan);
  // The result of the oldest step that was not applied.
  void Apply(StepResult* result, SteadyTime now);

  // What happened since it was last emptied; the caller takes the events out.
  std::vector<SequenceEvent>& events() { return events_; }
  bool HasWork() const { return !sequences_.empty(); }
  SteadyTime next_deadline() const { return next_deadline_; }
  SchedulerCounters Counters() const;
  // Evicts every block that no sequence holds.
  void DropPrefixCache() { ledger_.EvictAll(); }

  // All invariants of docs/contracts/kv.md, checked. O(pool + sequences).
  Status Verify() const;
  // Preempts the last in the order of service, as a lack of blocks would; false where nothing runs. For
  // tests.
  bool PreemptYoungest();

 private:
  struct PlannedRow {
    Sequence* seq;
    int32_t end;  // position behind the row
    bool wants_token;
  };
  struct StepInFlight {
    uint64_t step_id = 0;
    std::vector<PlannedRow> rows;
    int32_t num_decodes = 0;
    int32_t num_prefill_tokens = 0;
  };
  struct Share {
    Sequence* seq;
    int32_t num_tokens;
  };
  enum class Admission : uint8_t { kAdmitted, kSkipped, kFull };

  // plan.cc
  void PlanDecodes(StepPlan* plan);
  void PlanPrefills(StepPlan* plan);
  void ShareAmongRunning(int32_t* left);
  void ShareAmongWaiting(int32_t* left, SteadyTime now);
  void PlanRow(Sequence* seq, int32_t num_tokens, StepPlan* plan);
  int32_t MakeRoom(Sequence* seq, int32_t num_tokens);

  // admission.cc
  Admission TryAdmit(Sequence* seq, SteadyTime now);
  bool IsBeingFilled(const Sequence& seq, int32_t block_idx) const;
  int32_t PromisedBlocks() const;
  void InsertWaiting(Sequence* seq);

  // retire.cc
  void Preempt(Sequence* seq);
  Sequence* FindVictim(const Sequence& seq) const;
  void Finish(Sequence* seq, SequenceEvent* event, FinishReason reason);
  void LeaveSlot(Sequence* seq);
  void Settle(Sequence* seq);
  void ExpireDeadlines(SteadyTime now);

  // scheduler.cc
  void ApplyRow(const PlannedRow& row, RowResult* result);
  bool AppendToken(Sequence* seq, RowResult* result);
  SequenceEvent* EmitEvent(Sequence* seq);

  const SchedulerConfig config_;
  const int32_t token_budget_;
  BlockLedger ledger_;
  PrefillPace pace_;
  std::unordered_map<RequestId, std::unique_ptr<Sequence>> sequences_;
  std::vector<Sequence*> running_;  // in order of service
  std::vector<Sequence*> waiting_;  // in order of service
  int32_t num_draining_ = 0;        // sequences in kPreempted and kFinished: their blocks are on the way back

  // A slot that was left is free at once; the next plan tells the executor of the closing first. Slots left
  // by sequences that have a row in the plan being built wait until it is built.
  std::vector<SeqSlot> free_slots_;
  std::vector<SeqSlot> closed_slots_;
  std::vector<SeqSlot> late_slots_;

  std::deque<StepInFlight> in_flight_;
  std::vector<StepInFlight> spare_;  // memory for later steps
  StepInFlight building_;
  bool is_building_ = false;
  std::vector<Share> shares_;  // of the plan being built

  std::vector<SequenceEvent> events_;
  SteadyTime now_;
  SteadyTime next_deadline_ = SteadyTime::max();
  uint64_t next_arrival_ = 0;
  uint64_t step_id_ = 0;
  SchedulerCounters counters_;
};

}  // namespace firebrick
