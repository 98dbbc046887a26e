// StepResult: what came of a StepPlan. Thread: built on the executor's thread, read on the engine thread.
#pragma once

#include <cstdint>
#include <vector>

#include "api/delta.h"
#include "base/status.h"
#include "step/step_plan.h"

namespace firebrick {

struct RowResult {
  SeqSlot slot;
  Status status;         // not OK: this row failed, the others stand
  int32_t token = -1;    // the sampled token, where the row wanted one
  TokenLogprob logprob;  // where the request wants logprobs
  std::vector<TokenLogprob>
      prompt_logprobs;  // of the row's tokens 1..n (and the next chunk's first): see exec
};

struct StepResult {
  uint64_t step_id = 0;
  std::vector<RowResult> rows;  // in the order of StepPlan::rows
  int64_t execute_ns = 0;       // time on the executor's thread
};

}  // namespace firebrick
