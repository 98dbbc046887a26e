// OutputStream: the events of one sequence on their way to text. Thread: output thread. Owner: OutputRouter.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/delta.h"
#include "api/request.h"
#include "engine/mailbox.h"
#include "sched/sequence_event.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"

namespace firebrick {

class Tokenizer;

class OutputStream {
 public:
  // Takes what output needs out of the submission (sink, stop strings) and leaves the rest to the scheduler.
  // `tokenizer` may be null: no text; otherwise it outlives the stream.
  OutputStream(Submission* submission, const Tokenizer* tokenizer);

  RequestId id() const { return id_; }
  TokenSink& sink() { return *sink_; }
  // The next delta. It has `finish` where the sequence ends by the event, or by a stop string that the
  // event's token completes: later events of the sequence then do not count.
  TokenDelta Advance(SequenceEvent event);
  // For the observers: set by Advance.
  std::optional<double> seconds_to_first_token() const { return seconds_to_first_token_; }
  std::optional<double> seconds_between_tokens() const { return seconds_between_tokens_; }

 private:
  void AppendText(bool is_stop_token, TokenDelta* delta);
  void Search(const std::string& text, TokenDelta* delta);
  void CountToken(SteadyTime time);
  void FillAccounts(const SequenceEvent& event, TokenDelta* delta) const;

  RequestId id_;
  std::shared_ptr<TokenSink> sink_;
  std::optional<Detokenizer> detokenizer_;
  std::optional<StopMatcher> matcher_;
  std::vector<std::string> stop_strings_;
  bool include_stop_ = false;
  int32_t min_tokens_ = 0;
  int32_t num_prompt_tokens_ = 0;
  int32_t num_tokens_ = 0;
  SteadyTime submitted_;
  SteadyTime first_token_;
  SteadyTime last_token_;
  std::optional<double> seconds_to_first_token_;
  std::optional<double> seconds_between_tokens_;
};

}  // namespace firebrick
