// chat.completion and chat.completion.chunk.
#include <fmt/format.h>

#include "base/json.h"
#include "server/openai/answer_json.h"

namespace firebrick {
namespace {

void AppendToken(std::string_view bytes, float logprob, std::string* out) {
  out->append(R"({"token":)");
  AppendJsonString(ReplaceInvalidUtf8(bytes), out);
  out->append(R"(,"logprob":)");
  AppendLogprob(logprob, out);
  out->append(R"(,"bytes":[)");
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (i > 0) out->push_back(',');
    out->append(std::to_string(static_cast<unsigned char>(bytes[i])));
  }
  out->push_back(']');
}

void AppendLogprobs(const AnswerPiece& piece, bool wanted, std::string* out) {
  out->append(R"("logprobs":)");
  if (!wanted || piece.logprobs.empty()) {
    out->append("null");
    return;
  }
  out->append(R"({"content":[)");
  for (size_t i = 0; i < piece.logprobs.size(); ++i) {
    const AnswerLogprob& entry = piece.logprobs[i];
    if (i > 0) out->push_back(',');
    AppendToken(entry.token_bytes, entry.logprob.value_or(0), out);
    out->append(R"(,"top_logprobs":[)");
    for (size_t k = 0; k < entry.top.size(); ++k) {
      if (k > 0) out->push_back(',');
      AppendToken(entry.top[k].first, entry.top[k].second, out);
      out->push_back('}');
    }
    out->append("]}");
  }
  out->append(R"(],"refusal":null})");
}

class ChatFormat final : public AnswerFormat {
 public:
  std::string_view object(bool chunk) const override {
    return chunk ? "chat.completion.chunk" : "chat.completion";
  }

  // The role alone, then the text, then an empty delta with the reason: each has a chunk of its own.
  void AppendChunkChoices(const AnswerPiece& piece, bool first, bool wants_logprobs,
                          std::vector<std::string>* choices) const override {
    const std::string start = fmt::format(R"({{"index":{},"delta":)", piece.choice);
    constexpr std::string_view kUnfinished = R"(,"logprobs":null,"finish_reason":null})";
    if (first)
      choices->push_back(fmt::format(R"({}{{"role":"assistant","content":""}}{})", start, kUnfinished));
    if (piece.has_content()) {
      std::string& out = choices->emplace_back(start + R"({"content":)");
      AppendJsonString(piece.text, &out);
      out += "},";
      AppendLogprobs(piece, wants_logprobs, &out);
      out += R"(,"finish_reason":null})";
    }
    if (!piece.finish_reason.empty()) {
      std::string& out = choices->emplace_back(start + R"({},"logprobs":null,)");
      AppendFinish(piece, &out);
      out.push_back('}');
    }
  }

  void AppendWholeChoice(const AnswerPiece& choice, bool wants_logprobs, std::string* out) const override {
    out->append(fmt::format(R"({{"index":{},"message":{{"role":"assistant","content":)", choice.choice));
    AppendJsonString(choice.text, out);
    out->append(R"(,"refusal":null},)");
    AppendLogprobs(choice, wants_logprobs, out);
    out->push_back(',');
    AppendFinish(choice, out);
    out->push_back('}');
  }
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeChatFormat() { return std::make_unique<ChatFormat>(); }

}  // namespace firebrick
