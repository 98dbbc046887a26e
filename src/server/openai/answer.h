// An answer on its way to the client: pieces of choices, a format for each endpoint (chat, completions), and
// two sinks (stream, whole) that take the same pieces. So a stream, joined, is the whole answer by
// construction. Thread: one at a time; the Call that owns a sink serialises.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "api/delta.h"
#include "http/responder.h"
#include "server/api_error.h"

namespace firebrick {

struct AnswerLogprob {
  std::string token_bytes;                         // perhaps no UTF-8
  std::optional<float> logprob;                    // absent for the first token of an echoed prompt
  std::vector<std::pair<std::string, float>> top;  // bytes of a token and its logprob, best first
  size_t text_offset = 0;                          // characters of the choice's text before this token
};

// A part of one choice; accumulated, it is the whole choice.
struct AnswerPiece {
  size_t choice = 0;
  std::string text;  // valid UTF-8
  std::vector<AnswerLogprob> logprobs;
  std::string_view finish_reason;                                  // empty until the last piece of the choice
  std::variant<std::monostate, int32_t, std::string> stop_reason;  // the token or string that ended it

  bool has_content() const { return !text.empty() || !logprobs.empty(); }
  void Append(AnswerPiece next);
};

// Facts that every chunk of one answer repeats.
struct AnswerHead {
  std::string id;
  int64_t created = 0;
  std::string model;
  std::string fingerprint;
  bool wants_logprobs = false;
  bool wants_usage = false;  // stream_options.include_usage
};

class AnswerFormat {
 public:
  virtual ~AnswerFormat() = default;
  virtual std::string_view object(bool chunk) const = 0;
  // Appends the "choices" members of the chunks that carry this piece, one string per chunk. `first`: the
  // choice's first.
  virtual void AppendChunkChoices(const AnswerPiece& piece, bool first, bool wants_logprobs,
                                  std::vector<std::string>* choices) const = 0;
  // One member of "choices" of a whole answer.
  virtual void AppendWholeChoice(const AnswerPiece& choice, bool wants_logprobs, std::string* out) const = 0;
};

std::unique_ptr<AnswerFormat> MakeChatFormat();
std::unique_ptr<AnswerFormat> MakeCompletionFormat();

void AppendUsage(const Usage& usage, std::string* out);

class AnswerSink {
 public:
  virtual ~AnswerSink() = default;
  // False: the client is gone.
  virtual bool Add(AnswerPiece piece) = 0;
  virtual void End(const Usage& usage) = 0;
  // Before anything was sent: an HTTP error. Later: an error event.
  virtual void Fail(const ApiError& error) = 0;
  virtual void OnDisconnect(std::function<void()> callback) = 0;
};

std::unique_ptr<AnswerSink> MakeStreamSink(Responder responder, AnswerHead head,
                                           std::unique_ptr<AnswerFormat> format, size_t num_choices);
std::unique_ptr<AnswerSink> MakeWholeSink(Responder responder, AnswerHead head,
                                          std::unique_ptr<AnswerFormat> format, size_t num_choices);

}  // namespace firebrick
