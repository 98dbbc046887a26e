// What goes back to the caller of a request. Plain data and one sink interface.
// Thread: deltas are made on the output thread and moved into the sink.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/ids.h"
#include "base/status.h"

namespace firebrick {

enum class FinishReason : uint8_t { kStop, kLength, kCancelled, kError };

struct TokenLogprob {
  int32_t token = 0;
  float logprob = 0.0F;  // natural logarithm, of the distribution before sampling filters
  std::vector<std::pair<int32_t, float>> top;  // best first, ties to the lowest id
};

struct Usage {
  int32_t prompt_tokens = 0;
  int32_t completion_tokens = 0;
  int32_t cached_tokens = 0;  // prompt tokens whose KV was found, not computed
};

// Milliseconds, measured by the engine.
struct Timings {
  double queue_ms = 0;    // submit to first plan
  double prefill_ms = 0;  // first plan to first token
  double decode_ms = 0;   // first token to last
  int32_t num_preemptions = 0;
};

// A few tokens of one request. `text` is whole characters only, stop strings already cut off; it may be empty
// while a character or a possible stop string is held back. The last delta has `finish` set, and usage and
// timings filled.
struct TokenDelta {
  RequestId id;
  std::string text;
  std::vector<int32_t> tokens;
  std::vector<TokenLogprob> logprobs;  // one per token, where asked for
  std::vector<TokenLogprob>
      prompt_logprobs;  // in the first delta, where asked for; entry 0 stands for token 1
  std::optional<FinishReason> finish;
  std::string matched_stop_string;            // finish == kStop by a string
  std::optional<int32_t> matched_stop_token;  // finish == kStop by an id
  Status error;                               // finish == kError
  Usage usage;
  Timings timings;
};

// Where the deltas of one request go. Called on the output thread, in order, never after the delta with
// `finish`. Must not block. Shared, because both the transport and the router of outputs hold it, and either
// may go first.
class TokenSink {
 public:
  virtual ~TokenSink() = default;
  virtual void OnDelta(TokenDelta delta) = 0;
};

}  // namespace firebrick
