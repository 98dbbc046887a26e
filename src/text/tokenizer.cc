#include "text/tokenizer.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/utf8.h"
#include "text/detokenizer.h"
#include "text/tokenizer_state.h"

namespace firebrick {
namespace {

constexpr size_t kMaxTextBytes = 256 << 20;

// One call of Encode: the whole text cut at added tokens, the rest normalised, cut at normalised added
// tokens, pre-tokenised and merged.
class Encoding {
 public:
  Encoding(const TokenizerState& state, std::string_view text, const AddedTokenPolicy& policy,
           std::vector<int32_t>* ids)
      : state_(state), text_(text), policy_(policy), scratch_(text.size()), ids_(ids) {}

  Status Run() {
    std::vector<AddedTokenTrie::Match> matches;
    state_.raw_tokens.FindAll(text_, policy_, &matches);
    uint32_t pos = 0;
    for (const AddedTokenTrie::Match& match : matches) {
      if (match.range.begin > pos) RETURN_IF_ERROR(EncodeRaw({pos, match.range.begin}));
      ids_->push_back(match.id);
      pos = match.range.end;
    }
    if (pos < text_.size()) RETURN_IF_ERROR(EncodeRaw({pos, static_cast<uint32_t>(text_.size())}));
    return OkStatus();
  }

 private:
  // Text without raw added tokens.
  Status EncodeRaw(TextRange range) {
    std::string text(text_.substr(range.begin, range.size()));
    const bool starts_text = range.begin == 0;
    if (state_.normalized_tokens.empty()) {
      state_.normalizer.Apply(&text, nullptr);
      return EncodeNormalized(std::move(text), starts_text);
    }
    std::vector<TextRange> trusted;
    AddedTokenPolicy policy = policy_;
    if (policy_.mode == AddedTokenPolicy::Mode::kTrusted) {
      std::vector<uint8_t> marks = MarksOf(range);
      state_.normalizer.Apply(&text, &marks);
      trusted = RangesOf(marks);
      policy.trusted = &trusted;
    } else {
      state_.normalizer.Apply(&text, nullptr);
    }
    std::vector<AddedTokenTrie::Match> matches;
    state_.normalized_tokens.FindAll(text, policy, &matches);
    uint32_t pos = 0;
    const auto encode_until = [&](uint32_t end) {
      if (end <= pos) return OkStatus();
      return EncodeNormalized(text.substr(pos, end - pos), starts_text && pos == 0);
    };
    for (const AddedTokenTrie::Match& match : matches) {
      RETURN_IF_ERROR(encode_until(match.range.begin));
      ids_->push_back(match.id);
      pos = match.range.end;
    }
    return encode_until(static_cast<uint32_t>(text.size()));
  }

  Status EncodeNormalized(std::string text, bool starts_text) {
    TextPieces pieces{.text = std::move(text), .pieces = {}, .starts_text = starts_text};
    if (pieces.text.empty()) return OkStatus();
    pieces.pieces.push_back({0, static_cast<uint32_t>(pieces.text.size())});
    RETURN_IF_ERROR(state_.pre_tokenizer.Apply(&pieces));
    for (const TextRange& piece : pieces.pieces) {
      state_.bpe.Encode(state_.vocabulary, std::string_view(pieces.text).substr(piece.begin, piece.size()),
                        &scratch_, ids_);
    }
    return OkStatus();
  }

  std::vector<uint8_t> MarksOf(TextRange range) const {
    std::vector<uint8_t> marks(range.size(), 0);
    for (const TextRange& trusted : *policy_.trusted) {
      const uint32_t begin = std::max(trusted.begin, range.begin);
      const uint32_t end = std::min(trusted.end, range.end);
      for (uint32_t i = begin; i < end; ++i) marks[i - range.begin] = 1;
    }
    return marks;
  }
  static std::vector<TextRange> RangesOf(const std::vector<uint8_t>& marks) {
    std::vector<TextRange> ranges;
    for (uint32_t i = 0; i < marks.size(); ++i) {
      if (marks[i] == 0) continue;
      if (!ranges.empty() && ranges.back().end == i) {
        ranges.back().end = i + 1;
      } else {
        ranges.push_back({i, i + 1});
      }
    }
    return ranges;
  }

  const TokenizerState& state_;
  std::string_view text_;
  const AddedTokenPolicy& policy_;
  BpeScratch scratch_;
  std::vector<int32_t>* ids_;
};

Result<std::vector<int32_t>> EncodeText(const TokenizerState& state, std::string_view text,
                                        const AddedTokenPolicy& policy, bool add_special) {
  std::vector<int32_t> ids;
  ids.reserve(text.size() / 4 + 4);
  if (add_special) ids = state.prefix_ids;
  RETURN_IF_ERROR(Encoding(state, text, policy, &ids).Run());
  if (add_special) ids.insert(ids.end(), state.suffix_ids.begin(), state.suffix_ids.end());
  return ids;
}

Status CheckText(std::string_view text, size_t bytes_before) {
  if (bytes_before + text.size() > kMaxTextBytes) {
    return MakeError(StatusCode::kResourceExhausted, "a text of more than {} MiB is too long to tokenise",
                     kMaxTextBytes >> 20);
  }
  if (const size_t bad = FindInvalidUtf8(text); bad != kUtf8Valid) {
    return InvalidArgument("the text is not valid UTF-8 at byte {}; send UTF-8", bytes_before + bad);
  }
  return OkStatus();
}

Status CheckIds(const TokenizerSpec& spec) {
  const auto check = [&](const std::vector<int32_t>& ids, std::string_view what) {
    for (const int32_t id : ids) {
      if (!spec.vocabulary.Has(id))
        return InvalidArgument("{} token id {} is not in the vocabulary", what, id);
    }
    return OkStatus();
  };
  RETURN_IF_ERROR(check(spec.prefix_ids, "the post-processor's"));
  RETURN_IF_ERROR(check(spec.suffix_ids, "the post-processor's"));
  for (const Merge& merge : spec.merges)
    RETURN_IF_ERROR(check({merge.left, merge.right, merge.merged}, "a merge's"));
  for (const AddedToken& token : spec.added_tokens) RETURN_IF_ERROR(check({token.id}, "an added token's"));
  return OkStatus();
}

}  // namespace

Tokenizer::Tokenizer(std::unique_ptr<const TokenizerState> state) : state_(std::move(state)) {}
Tokenizer::Tokenizer(Tokenizer&& other) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&& other) noexcept = default;
Tokenizer::~Tokenizer() = default;

Result<Tokenizer> Tokenizer::FromSpec(TokenizerSpec spec) {
  RETURN_IF_ERROR(CheckIds(spec));
  auto state = std::make_unique<TokenizerState>();
  state->vocabulary = std::move(spec.vocabulary);
  state->bpe = BpeModel::Build(state->vocabulary, spec.merges, spec.bpe);
  state->normalizer = Normalizer(std::move(spec.normalizer));
  state->pre_tokenizer = PreTokenizer(std::move(spec.pre_tokenizer));
  state->special.resize(static_cast<size_t>(state->vocabulary.size()));
  for (const AddedToken& token : spec.added_tokens) {
    if (token.special) state->special[static_cast<size_t>(token.id)] = true;
    if (token.text.empty()) continue;
    if (!token.normalized) {
      state->raw_tokens.Add(token.text, token);
      continue;
    }
    std::string text = token.text;
    state->normalizer.Apply(&text, nullptr);
    if (!text.empty()) state->normalized_tokens.Add(text, token);
  }
  state->decoder = TokenDecoder::Build(state->vocabulary, std::move(spec.decoder));
  state->prefix_ids = std::move(spec.prefix_ids);
  state->suffix_ids = std::move(spec.suffix_ids);
  state->end_ids = std::move(spec.end_ids);
  state->bos_id = spec.bos_id;
  state->eos_id = spec.eos_id;
  return Tokenizer(std::move(state));
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::span<const TextSpan> spans, bool add_special) const {
  std::string text;
  std::vector<TextRange> trusted;
  for (const TextSpan& span : spans) {
    RETURN_IF_ERROR(CheckText(span.text, text.size()));
    const TextRange range{static_cast<uint32_t>(text.size()),
                          static_cast<uint32_t>(text.size() + span.text.size())};
    text += span.text;
    if (!span.allow_special || range.size() == 0) continue;
    if (!trusted.empty() && trusted.back().end == range.begin) {
      trusted.back().end = range.end;
    } else {
      trusted.push_back(range);
    }
  }
  return EncodeText(*state_, text, {AddedTokenPolicy::Mode::kTrusted, &trusted}, add_special);
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text, SpecialTokens special,
                                               bool add_special) const {
  RETURN_IF_ERROR(CheckText(text, 0));
  const std::vector<TextRange> trusted;
  AddedTokenPolicy policy;
  switch (special) {
    case SpecialTokens::kRecognise:
      policy.mode = AddedTokenPolicy::Mode::kAll;
      break;
    case SpecialTokens::kUserText:
      policy = {AddedTokenPolicy::Mode::kTrusted, &trusted};
      break;
    case SpecialTokens::kAsText:
      policy.mode = AddedTokenPolicy::Mode::kNotSpecial;
      break;
  }
  return EncodeText(*state_, text, policy, add_special);
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special) const {
  Detokenizer detokenizer(*this, skip_special);
  std::string text;
  for (const int32_t id : ids) text += detokenizer.Push(id);
  text += detokenizer.Flush();
  return text;
}

std::string Tokenizer::TokenBytes(int32_t id) const {
  if (const int byte = state_->decoder.ByteOf(id); byte >= 0) return std::string(1, static_cast<char>(byte));
  return std::string(state_->decoder.Piece(id));
}

int32_t Tokenizer::vocab_size() const { return state_->vocabulary.size(); }
std::optional<int32_t> Tokenizer::bos_id() const { return state_->bos_id; }
std::optional<int32_t> Tokenizer::eos_id() const { return state_->eos_id; }
std::span<const int32_t> Tokenizer::end_ids() const { return state_->end_ids; }
bool Tokenizer::IsSpecial(int32_t id) const { return state_->IsSpecial(id); }
std::optional<int32_t> Tokenizer::FindToken(std::string_view text) const {
  const int32_t id = state_->vocabulary.Find(text);
  if (id < 0) return std::nullopt;
  return id;
}
std::string_view Tokenizer::TokenText(int32_t id) const { return state_->vocabulary.Text(id); }

}  // namespace firebrick
