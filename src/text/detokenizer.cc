#include "text/detokenizer.h"

#include <string_view>
#include <utility>

#include "base/utf8.h"
#include "text/tokenizer.h"
#include "text/tokenizer_state.h"

namespace firebrick {
namespace {

constexpr std::string_view kReplacement = "\ufffd";

}  // namespace

Detokenizer::Detokenizer(const Tokenizer& tokenizer, bool skip_special)
    : state_(tokenizer.state_.get()),
      skip_special_(skip_special),
      strip_left_(tokenizer.state_->decoder.options().strip_left) {}

std::string Detokenizer::Push(int32_t id) {
  std::string out;
  if (!state_->vocabulary.Has(id) || (skip_special_ && state_->IsSpecial(id))) return out;
  const bool is_first = std::exchange(first_token_, false);
  const TokenDecoder& decoder = state_->decoder;
  switch (decoder.options().kind) {
    case DecoderOptions::Kind::kByteLevel:
      AppendBytes(decoder.Piece(id), &out);
      break;
    case DecoderOptions::Kind::kWords:
      if (!is_first) out += ' ';
      out += decoder.Piece(id);
      break;
    case DecoderOptions::Kind::kText:
      if (const int byte = decoder.ByteOf(id); byte >= 0) {
        pending_ += static_cast<char>(byte);
        break;
      }
      EndByteRun(&out);
      Append(is_first ? decoder.FirstPiece(id, state_->vocabulary) : decoder.Piece(id), &out);
      break;
  }
  return out;
}

std::string Detokenizer::Flush() {
  std::string out;
  if (state_->decoder.options().kind == DecoderOptions::Kind::kByteLevel) {
    if (!pending_.empty()) out += kReplacement;  // one beginning of a character at most
    pending_.clear();
  } else {
    EndByteRun(&out);
  }
  return out;
}

// Text of the kText way: leading characters may have to go.
void Detokenizer::Append(std::string_view text, std::string* out) {
  const std::string& strip = state_->decoder.options().strip_char;
  while (strip_left_ > 0 && !text.empty()) {
    if (!text.starts_with(strip)) {
      strip_left_ = 0;
      break;
    }
    text.remove_prefix(strip.size());
    --strip_left_;
  }
  *out += text;
}

// Raw bytes of the byte-level way: whole characters come out, hopeless bytes become U+FFFD, a beginning
// waits.
void Detokenizer::AppendBytes(std::string_view bytes, std::string* out) {
  if (pending_.empty() && IsValidUtf8(bytes)) {
    *out += bytes;
    return;
  }
  pending_ += bytes;
  std::string_view rest = pending_;
  while (!rest.empty()) {
    const Utf8Scan scan = ScanUtf8(rest);
    if (scan.step == Utf8Step::kIncomplete) break;
    *out += scan.step == Utf8Step::kCharacter ? rest.substr(0, scan.length) : kReplacement;
    rest.remove_prefix(scan.length);
  }
  pending_ = std::string(rest);
}

void Detokenizer::EndByteRun(std::string* out) {
  if (pending_.empty()) return;
  if (IsValidUtf8(pending_)) {
    Append(pending_, out);
  } else {
    for (size_t i = 0; i < pending_.size(); ++i) Append(kReplacement, out);
  }
  pending_.clear();
}

}  // namespace firebrick
