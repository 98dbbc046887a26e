// SequenceEvent: what the scheduler tells the output router about one sequence. Plain data, moved.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "api/delta.h"
#include "api/ids.h"
#include "base/status.h"
#include "sched/sequence.h"

namespace firebrick {

struct SequenceEvent {
  RequestId id;
  SteadyTime time;       // when the result was applied
  int32_t token = -1;    // -1: no token comes with this event
  TokenLogprob logprob;  // where asked for
  std::vector<TokenLogprob> prompt_logprobs;
  std::optional<FinishReason> finish;  // the last event of the sequence
  std::optional<int32_t> matched_stop_token;
  Status error;
  int32_t num_cached_tokens = 0;
  int32_t num_preemptions = 0;
  std::optional<SteadyTime> first_planned;
};

}  // namespace firebrick
