// Turns a plan and the slots into the flat batch of a forward pass. Pure but for the batch that it fills.
// Thread: the executor's thread.
#pragma once

#include "exec/slot_state.h"
#include "kernels/kv_view.h"
#include "step/input_batch.h"
#include "step/step_plan.h"

namespace firebrick {

// Row i of the plan becomes sequence i of the batch. The logits wanted: of every token where a row asks for
// prompt log-probabilities, else of its last token where it wants a token.
void BuildInputBatch(const StepPlan& plan, const SlotTable& slots, int32_t num_groups, InputBatch* batch);

}  // namespace firebrick
