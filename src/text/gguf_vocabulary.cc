#include "text/gguf_vocabulary.h"

#include <algorithm>
#include <functional>
#include <limits>
#include <utility>

#include "text/split_pattern.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json_parts.h"
#include "text/unicode_class.h"
#include "weights/checkpoint.h"

namespace firebrick {
namespace {

constexpr std::string_view kWordMark = "\u2581";  // "▁"
constexpr size_t kMaxScoredBytes = 512;           // longer tokens are not made by merging

template <typename T>
T ArrayOf(const Checkpoint& checkpoint, std::string_view key) {
  const GgufValue* value = checkpoint.FindMetadata(key);
  const T* array = value == nullptr ? nullptr : std::get_if<T>(value);
  return array == nullptr ? T() : *array;
}

std::optional<int64_t> IntegerOf(const Checkpoint& checkpoint, std::string_view key) {
  const GgufValue* value = checkpoint.FindMetadata(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* number = std::get_if<int64_t>(value)) return *number;
  if (const auto* number = std::get_if<uint64_t>(value)) {
    return static_cast<int64_t>(std::min<uint64_t>(*number, std::numeric_limits<int64_t>::max()));
  }
  return std::nullopt;
}

std::optional<bool> BoolOf(const Checkpoint& checkpoint, std::string_view key) {
  const GgufValue* value = checkpoint.FindMetadata(key);
  const bool* flag = value == nullptr ? nullptr : std::get_if<bool>(value);
  return flag == nullptr ? std::nullopt : std::optional<bool>(*flag);
}

GgufTokenType TypeOf(const GgufVocabulary& vocabulary, size_t id) {
  return id < vocabulary.token_types.size() ? GgufTokenType{vocabulary.token_types[id]}
                                            : GgufTokenType::kNormal;
}

Status AddTokens(const GgufVocabulary& vocabulary, TokenizerSpec* spec) {
  if (vocabulary.tokens.empty()) return InvalidArgument("tokenizer.ggml.tokens is missing or empty");
  if (!vocabulary.token_types.empty() && vocabulary.token_types.size() != vocabulary.tokens.size()) {
    return InvalidArgument("tokenizer.ggml.token_type has {} entries for {} tokens",
                           vocabulary.token_types.size(), vocabulary.tokens.size());
  }
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const std::string& text = vocabulary.tokens[id];
    if (id >= static_cast<size_t>(Vocabulary::kMaxTokens))
      return InvalidArgument("tokenizer.ggml.tokens is too long");
    RETURN_IF_ERROR(
        spec->vocabulary.Add(text, static_cast<int32_t>(id)).WithContext("tokenizer.ggml.tokens"));
    const GgufTokenType type = TypeOf(vocabulary, id);
    if (type != GgufTokenType::kControl && type != GgufTokenType::kUnknown &&
        type != GgufTokenType::kUserDefined)
      continue;
    AddedToken token{.text = text, .id = static_cast<int32_t>(id)};
    token.special = type != GgufTokenType::kUserDefined;
    // Runs of spaces are written with spaces, and are units of the normalised text, where a typed "▁" is one
    // too.
    token.normalized = !token.special && vocabulary.model == "llama" &&
                       !vocabulary.add_space_prefix.value_or(true) && text.find(' ') != std::string::npos;
    spec->added_tokens.push_back(std::move(token));
  }
  return OkStatus();
}

// "a b": the halves meet at the first space that is not the first character.
Status AddMerges(const GgufVocabulary& vocabulary, TokenizerSpec* spec) {
  for (size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
    const std::string& text = vocabulary.merges[rank];
    const size_t space = text.find(' ', 1);
    if (space == std::string::npos)
      return InvalidArgument("tokenizer.ggml.merges[{}] (\"{}\") has no space", rank, text);
    const std::string left = text.substr(0, space);
    const std::string right = text.substr(space + 1);
    const Merge merge{spec->vocabulary.Find(left), spec->vocabulary.Find(right),
                      spec->vocabulary.Find(left + right), static_cast<uint32_t>(rank)};
    if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
      return InvalidArgument("tokenizer.ggml.merges[{}] (\"{}\") names tokens that the vocabulary lacks",
                             rank, text);
    }
    spec->merges.push_back(merge);
  }
  return OkStatus();
}

// Ranks of scores: the highest score is rank 0, equal scores share a rank.
std::vector<uint32_t> RanksOfScores(const std::vector<double>& scores) {
  std::vector<double> sorted = scores;
  std::sort(sorted.begin(), sorted.end(), std::greater<>());
  sorted.erase(std::unique(sorted.begin(), sorted.end()), sorted.end());
  std::vector<uint32_t> ranks;
  ranks.reserve(scores.size());
  for (const double score : scores) {
    ranks.push_back(static_cast<uint32_t>(
        std::lower_bound(sorted.begin(), sorted.end(), score, std::greater<>()) - sorted.begin()));
  }
  return ranks;
}

// SentencePiece joins any two neighbours whose joined text is a token, best score first: one merge for each
// way to cut a token into two tokens.
Status AddScoredMerges(const GgufVocabulary& vocabulary, TokenizerSpec* spec) {
  if (vocabulary.scores.size() != vocabulary.tokens.size()) {
    return InvalidArgument("tokenizer.ggml.scores has {} entries for {} tokens", vocabulary.scores.size(),
                           vocabulary.tokens.size());
  }
  const bool has_nan = std::any_of(vocabulary.scores.begin(), vocabulary.scores.end(),
                                   [](double score) { return score != score; });
  if (has_nan) return InvalidArgument("tokenizer.ggml.scores holds NaN");
  const std::vector<uint32_t> ranks = RanksOfScores(vocabulary.scores);
  for (size_t id = 0; id < vocabulary.tokens.size(); ++id) {
    const GgufTokenType type = TypeOf(vocabulary, id);
    const bool is_text = type == GgufTokenType::kNormal || type == GgufTokenType::kUserDefined ||
                         type == GgufTokenType::kUnused;
    const std::string_view text = vocabulary.tokens[id];
    if (!is_text || text.empty() || text.size() > kMaxScoredBytes) continue;
    if (spec->vocabulary.Find(text) != static_cast<int32_t>(id)) continue;  // the first of equal texts counts
    for (size_t cut = CharLength(text[0]); cut < text.size(); cut += CharLength(text[cut])) {
      const int32_t left = spec->vocabulary.Find(text.substr(0, cut));
      const int32_t right = left < 0 ? -1 : spec->vocabulary.Find(text.substr(cut));
      if (right < 0) continue;
      spec->merges.push_back({left, right, static_cast<int32_t>(id), ranks[id]});
    }
  }
  return OkStatus();
}

Status SpecByteLevel(const GgufVocabulary& vocabulary, TokenizerSpec* spec, bool* add_bos) {
  const std::string_view name = vocabulary.pre.empty() ? std::string_view("default") : vocabulary.pre;
  const std::optional<GgufPreTokenizer> pre = FindGgufPreTokenizer(name);
  if (!pre.has_value()) {
    return Unimplemented(
        "the pre-tokenizer \"{}\" (tokenizer.ggml.pre) is not implemented; use the model's folder with "
        "tokenizer.json",
        name);
  }
  RETURN_IF_ERROR(AddMerges(vocabulary, spec));
  if (pre->nfc) spec->normalizer.push_back({});
  for (const std::string_view regex : pre->regexes) {
    PreTokenizerStep step;
    ASSIGN_OR_RETURN(step.pattern, SplitPattern::FromRegex(regex));
    spec->pre_tokenizer.push_back(std::move(step));
  }
  PreTokenizerStep bytes;
  bytes.kind = PreTokenizerStep::Kind::kByteLevel;
  bytes.use_pattern = false;
  spec->pre_tokenizer.push_back(std::move(bytes));
  spec->bpe.byte_level = true;
  spec->bpe.ignore_merges = pre->ignore_merges;
  spec->decoder.kind = DecoderOptions::Kind::kByteLevel;
  *add_bos = pre->add_bos;
  return OkStatus();
}

Status SpecSentencePiece(const GgufVocabulary& vocabulary, TokenizerSpec* spec, bool* add_bos) {
  RETURN_IF_ERROR(AddScoredMerges(vocabulary, spec));
  const bool add_space = vocabulary.add_space_prefix.value_or(true);
  using Kind = NormalizerStep::Kind;
  if (add_space)
    spec->normalizer.push_back({.kind = Kind::kPrepend, .from = {}, .to = std::string(kWordMark)});
  spec->normalizer.push_back(
      {.kind = Kind::kReplace, .from = std::string(1, ' '), .to = std::string(kWordMark)});
  spec->bpe.byte_fallback = true;
  spec->bpe.fuse_unk = true;
  if (vocabulary.unk_id.has_value()) spec->bpe.unk_id = static_cast<int32_t>(*vocabulary.unk_id);
  spec->decoder.kind = DecoderOptions::Kind::kText;
  spec->decoder.replacements = {{std::string(kWordMark), " "}};
  spec->decoder.byte_fallback = true;
  spec->decoder.strip_char = std::string(1, ' ');
  spec->decoder.strip_left = add_space ? 1 : 0;
  *add_bos = true;
  return OkStatus();
}

// Ids that end a turn. Files without eot_token_id are common; the names are those that chat models give to
// it.
void AddEndIds(const GgufVocabulary& vocabulary, TokenizerSpec* spec) {
  const auto add = [&](std::optional<int64_t> id) {
    if (!id.has_value()) return;
    const auto token = static_cast<int32_t>(*id);
    const auto& ids = spec->end_ids;
    if (std::find(ids.begin(), ids.end(), token) == ids.end()) spec->end_ids.push_back(token);
  };
  add(vocabulary.eos_id);
  add(vocabulary.eot_id);
  add(vocabulary.eom_id);
  if (vocabulary.eot_id.has_value()) return;
  for (const std::string_view name : {"<|im_end|>", "<|eot_id|>", "<|eom_id|>", "<end_of_turn>"}) {
    const int32_t id = spec->vocabulary.Find(name);
    if (id >= 0 && TypeOf(vocabulary, static_cast<size_t>(id)) == GgufTokenType::kControl) add(id);
  }
}

Status CheckId(std::optional<int64_t> id, const GgufVocabulary& vocabulary, std::string_view name) {
  if (!id.has_value() || (*id >= 0 && static_cast<uint64_t>(*id) < vocabulary.tokens.size()))
    return OkStatus();
  return InvalidArgument("tokenizer.ggml.{}_token_id {} is outside of the vocabulary", name, *id);
}

// What other vocabularies than the token list say too: ids, BOS and EOS.
Status AddIds(const GgufVocabulary& vocabulary, bool add_bos, TokenizerSpec* spec) {
  RETURN_IF_ERROR(CheckId(vocabulary.bos_id, vocabulary, "bos"));
  RETURN_IF_ERROR(CheckId(vocabulary.eos_id, vocabulary, "eos"));
  RETURN_IF_ERROR(CheckId(vocabulary.eot_id, vocabulary, "eot"));
  RETURN_IF_ERROR(CheckId(vocabulary.eom_id, vocabulary, "eom"));
  RETURN_IF_ERROR(CheckId(vocabulary.unk_id, vocabulary, "unknown"));
  if (vocabulary.bos_id.has_value()) spec->bos_id = static_cast<int32_t>(*vocabulary.bos_id);
  if (vocabulary.eos_id.has_value()) spec->eos_id = static_cast<int32_t>(*vocabulary.eos_id);
  AddEndIds(vocabulary, spec);
  if (add_bos && spec->bos_id.has_value()) spec->prefix_ids = {*spec->bos_id};
  if (vocabulary.add_eos.value_or(false) && spec->eos_id.has_value()) spec->suffix_ids = {*spec->eos_id};
  return OkStatus();
}

}  // namespace

GgufVocabulary ReadGgufVocabulary(const Checkpoint& checkpoint) {
  GgufVocabulary vocabulary;
  vocabulary.model = ArrayOf<std::string>(checkpoint, "tokenizer.ggml.model");
  vocabulary.pre = ArrayOf<std::string>(checkpoint, "tokenizer.ggml.pre");
  vocabulary.tokens = ArrayOf<std::vector<std::string>>(checkpoint, "tokenizer.ggml.tokens");
  vocabulary.scores = ArrayOf<std::vector<double>>(checkpoint, "tokenizer.ggml.scores");
  vocabulary.token_types = ArrayOf<std::vector<int64_t>>(checkpoint, "tokenizer.ggml.token_type");
  vocabulary.merges = ArrayOf<std::vector<std::string>>(checkpoint, "tokenizer.ggml.merges");
  vocabulary.bos_id = IntegerOf(checkpoint, "tokenizer.ggml.bos_token_id");
  vocabulary.eos_id = IntegerOf(checkpoint, "tokenizer.ggml.eos_token_id");
  vocabulary.eot_id = IntegerOf(checkpoint, "tokenizer.ggml.eot_token_id");
  vocabulary.eom_id = IntegerOf(checkpoint, "tokenizer.ggml.eom_token_id");
  vocabulary.unk_id = IntegerOf(checkpoint, "tokenizer.ggml.unknown_token_id");
  vocabulary.add_bos = BoolOf(checkpoint, "tokenizer.ggml.add_bos_token");
  vocabulary.add_eos = BoolOf(checkpoint, "tokenizer.ggml.add_eos_token");
  vocabulary.add_space_prefix = BoolOf(checkpoint, "tokenizer.ggml.add_space_prefix");
  return vocabulary;
}

Result<TokenizerSpec> SpecOfGguf(const GgufVocabulary& vocabulary) {
  TokenizerSpec spec;
  bool add_bos = false;
  RETURN_IF_ERROR(AddTokens(vocabulary, &spec));
  if (vocabulary.model == "gpt2") {
    RETURN_IF_ERROR(SpecByteLevel(vocabulary, &spec, &add_bos));
  } else if (vocabulary.model == "llama") {
    RETURN_IF_ERROR(SpecSentencePiece(vocabulary, &spec, &add_bos));
  } else {
    return Unimplemented(
        "the tokenizer model \"{}\" (tokenizer.ggml.model) is not implemented; \"gpt2\" and \"llama\" are",
        vocabulary.model);
  }
  RETURN_IF_ERROR(AddIds(vocabulary, vocabulary.add_bos.value_or(add_bos), &spec));
  return spec;
}

Result<Tokenizer> Tokenizer::FromGguf(const Checkpoint& checkpoint) {
  const GgufVocabulary vocabulary = ReadGgufVocabulary(checkpoint);
  if (const GgufValue* value = checkpoint.FindMetadata("tokenizer.huggingface.json"); value != nullptr) {
    if (const auto* json = std::get_if<std::string>(value)) {
      ASSIGN_OR_RETURN(TokenizerSpec spec, ReadTokenizerJson(*json));
      const bool adds_nothing = spec.prefix_ids.empty() && spec.suffix_ids.empty();
      RETURN_IF_ERROR(AddIds(vocabulary, adds_nothing && vocabulary.add_bos.value_or(false), &spec));
      return FromSpec(std::move(spec));
    }
  }
  Result<TokenizerSpec> spec = SpecOfGguf(vocabulary);
  if (!spec.ok()) return spec.status().WithContext(checkpoint.path());
  return FromSpec(*std::move(spec));
}

}  // namespace firebrick
