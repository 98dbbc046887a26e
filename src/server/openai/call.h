// Call: one API call in flight: its choices, each a sequence in the engine, and the sink of its answer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/engine.h"
#include "server/openai/answer.h"
#include "text/detokenizer.h"

namespace firebrick {

class Tokenizer;

// What a choice needs beside its request.
struct ChoicePlan {
  size_t prompt_idx = 0;        // choices of one prompt are counted once in usage.prompt_tokens
  bool echo = false;            // the prompt is the beginning of the text
  std::string prompt_text;      // where echo
  std::vector<int32_t> prompt;  // where echo and logprobs
  std::vector<int32_t> caller_stop_ids;
};

// Thread: Run on a text thread; deltas on the engine's output thread; a disconnect on an io thread. One mutex
// serialises them. Ownership: shared by the token sinks, which the engine holds until the last delta of each,
// and by Run while it submits; so it ends with its last delta.
class Call : public std::enable_shared_from_this<Call> {
 public:
  struct Facts {
    Engine* engine = nullptr;              // outlives the call
    const Tokenizer* tokenizer = nullptr;  // likewise
    bool wants_logprobs = false;
    bool wants_offsets = false;  // text_offset of completions
    bool skip_special_tokens = true;
  };
  Call(Facts facts, std::unique_ptr<AnswerSink> sink, std::vector<ChoicePlan> plans);

  // Submits one request per plan: all or none. Where the engine refuses one, the others are cancelled and the
  // answer is that refusal.
  void Run(std::vector<GenerateRequest> requests);

 private:
  class ChoiceSink;
  struct Choice {
    ChoicePlan plan;
    bool begun = false;
    std::optional<FinishReason> finish;
    Usage usage;
    std::optional<Detokenizer> offsets;  // counts the text that came before a token
    size_t num_characters = 0;
  };

  void OnDelta(size_t choice, TokenDelta delta);
  void ApplyLocked(size_t choice, TokenDelta delta);
  AnswerPiece MakePiece(size_t choice, const TokenDelta& delta);
  void AddEcho(Choice* choice, const TokenDelta& delta, AnswerPiece* piece);
  AnswerLogprob MakeLogprob(Choice* choice, int32_t token, const TokenLogprob* logprob);
  void FailLocked(const ApiError& error);
  Usage TotalUsage() const;
  void CancelAll();

  const Facts facts_;
  const std::unique_ptr<AnswerSink> sink_;
  std::vector<RequestId> ids_;  // const once Run has filled it

  std::mutex mutex_;
  std::vector<Choice> choices_;
  std::vector<std::pair<size_t, TokenDelta>> early_;  // came before all choices were admitted
  size_t num_unfinished_;
  bool admitted_ = false;
  bool closed_ = false;  // answered, failed, or nobody listens
};

}  // namespace firebrick
