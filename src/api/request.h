// GenerateRequest: one sequence to generate, in native types. Moved: server, mailbox, sequence.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "api/delta.h"
#include "api/ids.h"
#include "api/sampling.h"

namespace firebrick {

struct GenerateRequest {
  RequestId id;                 // unique in the process; made by Engine::NewRequestId
  std::vector<int32_t> prompt;  // at least one token, each in [0, vocab_size)
  SamplingParams sampling;
  StopRules stop;
  bool skip_special_tokens = true;  // in the text of deltas
  int32_t priority = 0;             // lower runs first
  std::string cache_salt;           // requests share prefixes only with equal salts
  std::chrono::steady_clock::time_point deadline = std::chrono::steady_clock::time_point::max();
  std::shared_ptr<TokenSink> sink;
};

}  // namespace firebrick
