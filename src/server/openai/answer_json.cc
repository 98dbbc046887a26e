#include "server/openai/answer_json.h"

#include <cmath>

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace firebrick {

std::string ReplaceInvalidUtf8(std::string_view bytes) {
  std::string text;
  while (!bytes.empty()) {
    const Utf8Scan scan = ScanUtf8(bytes);
    const size_t length = scan.step == Utf8Step::kIncomplete ? bytes.size() : scan.length;
    if (scan.step == Utf8Step::kCharacter) {
      text.append(bytes.substr(0, length));
    } else {
      AppendUtf8(0xFFFD, &text);
    }
    bytes.remove_prefix(length);
  }
  return text;
}

void AppendLogprob(float value, std::string* out) {
  if (!std::isfinite(value)) {
    out->append("-9999.0");
    return;
  }
  fmt::format_to(std::back_inserter(*out), "{}", value);
}

void AppendFinish(const AnswerPiece& piece, std::string* out) {
  out->append(R"("finish_reason":)");
  if (piece.finish_reason.empty()) {
    out->append("null");
    return;
  }
  AppendJsonString(piece.finish_reason, out);
  out->append(R"(,"stop_reason":)");
  if (const auto* token = std::get_if<int32_t>(&piece.stop_reason)) {
    out->append(std::to_string(*token));
  } else if (const auto* text = std::get_if<std::string>(&piece.stop_reason)) {
    AppendJsonString(*text, out);
  } else {
    out->append("null");
  }
}

void AppendUsage(const Usage& usage, std::string* out) {
  fmt::format_to(std::back_inserter(*out),
                 R"({{"prompt_tokens":{},"completion_tokens":{},"total_tokens":{},)"
                 R"("prompt_tokens_details":{{"cached_tokens":{}}}}})",
                 usage.prompt_tokens, usage.completion_tokens, usage.prompt_tokens + usage.completion_tokens,
                 usage.cached_tokens);
}

void AnswerPiece::Append(AnswerPiece next) {
  text += next.text;
  logprobs.insert(logprobs.end(), std::make_move_iterator(next.logprobs.begin()),
                  std::make_move_iterator(next.logprobs.end()));
  if (next.finish_reason.empty()) return;
  finish_reason = next.finish_reason;
  stop_reason = std::move(next.stop_reason);
}

}  // namespace firebrick
