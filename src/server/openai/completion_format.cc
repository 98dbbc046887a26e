// text_completion: chunks and whole answers have the same choices.
#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"
#include "server/openai/answer_json.h"

namespace firebrick {
namespace {

// A token that is no text by itself is named by its bytes, so that names stay distinct.
std::string TokenName(std::string_view bytes) {
  if (IsValidUtf8(bytes)) return std::string(bytes);
  std::string name = "bytes:";
  for (const char c : bytes) name += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  return name;
}

template <typename AppendOne>
void AppendList(std::string_view name, const AnswerPiece& piece, std::string* out,
                const AppendOne& append_one) {
  AppendJsonString(name, out);
  out->append(":[");
  for (size_t i = 0; i < piece.logprobs.size(); ++i) {
    if (i > 0) out->push_back(',');
    append_one(piece.logprobs[i]);
  }
  out->push_back(']');
}

void AppendTop(const AnswerLogprob& entry, std::string* out) {
  if (!entry.logprob) {
    out->append("null");
    return;
  }
  out->push_back('{');
  for (size_t k = 0; k < entry.top.size(); ++k) {
    if (k > 0) out->push_back(',');
    AppendJsonString(TokenName(entry.top[k].first), out);
    out->push_back(':');
    AppendLogprob(entry.top[k].second, out);
  }
  out->push_back('}');
}

void AppendLogprobs(const AnswerPiece& piece, bool wanted, std::string* out) {
  out->append(R"("logprobs":)");
  if (!wanted) {
    out->append("null");
    return;
  }
  out->push_back('{');
  AppendList("tokens", piece, out,
             [&](const AnswerLogprob& entry) { AppendJsonString(TokenName(entry.token_bytes), out); });
  out->push_back(',');
  AppendList("token_logprobs", piece, out, [&](const AnswerLogprob& entry) {
    if (entry.logprob) {
      AppendLogprob(*entry.logprob, out);
    } else {
      out->append("null");
    }
  });
  out->push_back(',');
  AppendList("top_logprobs", piece, out, [&](const AnswerLogprob& entry) { AppendTop(entry, out); });
  out->push_back(',');
  AppendList("text_offset", piece, out,
             [&](const AnswerLogprob& entry) { out->append(std::to_string(entry.text_offset)); });
  out->push_back('}');
}

class CompletionFormat final : public AnswerFormat {
 public:
  std::string_view object(bool) const override { return "text_completion"; }

  void AppendChunkChoices(const AnswerPiece& piece, bool, bool wants_logprobs,
                          std::vector<std::string>* choices) const override {
    if (!piece.has_content() && piece.finish_reason.empty()) return;
    AppendWholeChoice(piece, wants_logprobs, &choices->emplace_back());
  }

  void AppendWholeChoice(const AnswerPiece& choice, bool wants_logprobs, std::string* out) const override {
    out->append(fmt::format(R"({{"index":{},"text":)", choice.choice));
    AppendJsonString(choice.text, out);
    out->push_back(',');
    AppendLogprobs(choice, wants_logprobs, out);
    out->push_back(',');
    AppendFinish(choice, out);
    out->push_back('}');
  }
};

}  // namespace

std::unique_ptr<AnswerFormat> MakeCompletionFormat() { return std::make_unique<CompletionFormat>(); }

}  // namespace firebrick
