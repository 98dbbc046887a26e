// StepResult: what came of a StepPlan. A slot whose row failed fails every later row until it is closed.
// Thread: built on the executor's thread, read on the engine thread.
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
  // Where the row wants them: one for each position p of the row whose next token, p + 1, is of the prompt
  // (SlotOpen::tokens has it, also behind the end of the chunk): the logprob of token p + 1.
  std::vector<TokenLogprob> prompt_logprobs;
};

struct StepResult {
  uint64_t step_id = 0;
  std::vector<RowResult> rows;  // in the order of StepPlan::rows
  int64_t execute_ns = 0;       // time on the executor's thread
  StepPlan plan;                // given back, so that its memory serves a later step
};

}  // namespace firebrick
