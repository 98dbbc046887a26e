// The beginning of a request: checked on the caller's thread, then split on the engine thread into what the
// scheduler needs and what the output needs. (Its end is an event: see output_router.h.)
#pragma once

#include "base/status.h"
#include "engine/mailbox.h"
#include "engine/output_router.h"
#include "sched/scheduler.h"

namespace firebrick {

// Any thread. Everything that can be refused is refused here, before the mailbox.
Result<Submission> CheckRequest(GenerateRequest request, const SchedulerConfig& config,
                                const Tokenizer* tokenizer);
// Engine thread.
void Accept(Submission submission, const Tokenizer* tokenizer, Scheduler* scheduler, OutputRouter* router);

}  // namespace firebrick
