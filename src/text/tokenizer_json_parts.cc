#include "text/tokenizer_json_parts.h"

#include <string>
#include <string_view>
#include <utility>

#include "base/json.h"
#include "base/utf8.h"
#include "text/split_pattern.h"

namespace firebrick {
namespace {

constexpr std::string_view kGpt2Regex =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr size_t kMaxSteps = 64;

std::string StringOf(const Json& json, const char* key, std::string fallback = {}) {
  const auto it = json.find(key);
  return it != json.end() && it->is_string() ? it->get<std::string>() : std::move(fallback);
}
bool BoolOf(const Json& json, const char* key, bool fallback) {
  const auto it = json.find(key);
  return it != json.end() && it->is_boolean() ? it->get<bool>() : fallback;
}
size_t SizeOf(const Json& json, const char* key) {
  const auto it = json.find(key);
  return it != json.end() && it->is_number_unsigned() ? it->get<size_t>() : 0;
}

// Calls `read(component, type)` for a component, or for each in a Sequence (at any depth), in order.
template <typename Read>
Status ForEachComponent(const Json& json, const char* list_key, size_t* budget, const Read& read) {
  if (json.is_null()) return OkStatus();
  if (!json.is_object()) return InvalidArgument("a component is not an object");
  if ((*budget)-- == 0) return InvalidArgument("there are more than {} components", kMaxSteps);
  const std::string type = StringOf(json, "type");
  if (type != "Sequence") return read(json, type);
  const auto list = json.find(list_key);
  if (list == json.end() || !list->is_array())
    return InvalidArgument("a Sequence has no list \"{}\"", list_key);
  for (const Json& component : *list) RETURN_IF_ERROR(ForEachComponent(component, list_key, budget, read));
  return OkStatus();
}
template <typename Read>
Status ForEachComponent(const Json& json, const char* list_key, const Read& read) {
  size_t budget = kMaxSteps;
  return ForEachComponent(json, list_key, &budget, read);
}

// {"String": …} as a literal that is not empty.
Result<std::string> LiteralPattern(const Json& json) {
  const auto it = json.find("pattern");
  if (it == json.end() || !it->is_object() || !it->contains("String")) {
    return Unimplemented("Replace is implemented for patterns of the kind \"String\" only");
  }
  std::string literal = StringOf(*it, "String");
  if (literal.empty()) return InvalidArgument("a pattern is empty");
  return literal;
}

Status ReadNormalizerStep(const Json& json, const std::string& type, std::vector<NormalizerStep>* steps) {
  static constexpr std::pair<std::string_view, UnicodeForm> kForms[] = {{"NFC", UnicodeForm::kNfc},
                                                                        {"NFD", UnicodeForm::kNfd},
                                                                        {"NFKC", UnicodeForm::kNfkc},
                                                                        {"NFKD", UnicodeForm::kNfkd}};
  NormalizerStep step;
  for (const auto& [name, form] : kForms) {
    if (type != name) continue;
    step.form = form;
    steps->push_back(step);
    return OkStatus();
  }
  if (type == "Prepend") {
    step.kind = NormalizerStep::Kind::kPrepend;
    step.to = StringOf(json, "prepend");
  } else if (type == "Replace") {
    step.kind = NormalizerStep::Kind::kReplace;
    ASSIGN_OR_RETURN(step.from, LiteralPattern(json));
    step.to = StringOf(json, "content");
  } else if (type == "Strip") {
    step.kind = NormalizerStep::Kind::kStrip;
    step.left = BoolOf(json, "strip_left", true);
    step.right = BoolOf(json, "strip_right", true);
  } else {
    return Unimplemented("type \"{}\" is not implemented", type);
  }
  steps->push_back(std::move(step));
  return OkStatus();
}

Result<SplitBehavior> ReadBehavior(const Json& json) {
  static constexpr std::pair<std::string_view, SplitBehavior> kBehaviors[] = {
      {"Isolated", SplitBehavior::kIsolated},
      {"Removed", SplitBehavior::kRemoved},
      {"MergedWithPrevious", SplitBehavior::kMergedWithPrevious},
      {"MergedWithNext", SplitBehavior::kMergedWithNext},
      {"Contiguous", SplitBehavior::kContiguous}};
  const std::string name = StringOf(json, "behavior");
  for (const auto& [known, behavior] : kBehaviors) {
    if (name == known) return behavior;
  }
  return Unimplemented("Split behavior \"{}\" is not implemented", name);
}

Status ReadSplit(const Json& json, PreTokenizerStep* step) {
  ASSIGN_OR_RETURN(step->behavior, ReadBehavior(json));
  step->invert = BoolOf(json, "invert", false);
  const auto pattern = json.find("pattern");
  if (pattern == json.end() || !pattern->is_object()) return InvalidArgument("a Split has no pattern");
  if (pattern->contains("Regex")) {
    ASSIGN_OR_RETURN(step->pattern, SplitPattern::FromRegex(StringOf(*pattern, "Regex")));
    return OkStatus();
  }
  const std::string literal = StringOf(*pattern, "String");
  if (literal.empty()) return InvalidArgument("a Split has an empty pattern");
  step->pattern = SplitPattern::FromLiteral(literal);
  return OkStatus();
}

Status ReadMetaspace(const Json& json, PreTokenizerStep* step) {
  step->kind = PreTokenizerStep::Kind::kMetaspace;
  step->replacement = StringOf(json, "replacement", "\u2581");
  if (step->replacement.empty()) return InvalidArgument("Metaspace has an empty replacement");
  const std::string scheme =
      StringOf(json, "prepend_scheme", BoolOf(json, "add_prefix_space", true) ? "always" : "never");
  if (scheme != "always" && scheme != "first" && scheme != "never") {
    return Unimplemented("Metaspace prepend_scheme \"{}\" is not implemented", scheme);
  }
  step->prepend = scheme == "always"  ? PrependScheme::kAlways
                  : scheme == "first" ? PrependScheme::kFirst
                                      : PrependScheme::kNever;
  step->use_pattern = BoolOf(json, "split", true);
  step->behavior = SplitBehavior::kMergedWithNext;
  step->pattern = SplitPattern::FromLiteral(step->replacement);
  return OkStatus();
}

Status ReadPreTokenizerStep(const Json& json, const std::string& type, TokenizerSpec* spec) {
  if (spec->bpe.byte_level) return Unimplemented("\"{}\" behind ByteLevel is not implemented", type);
  PreTokenizerStep step;
  if (type == "Split") {
    RETURN_IF_ERROR(ReadSplit(json, &step));
  } else if (type == "ByteLevel") {
    step.kind = PreTokenizerStep::Kind::kByteLevel;
    step.add_prefix_space = BoolOf(json, "add_prefix_space", true);
    step.use_pattern = BoolOf(json, "use_regex", true);
    ASSIGN_OR_RETURN(step.pattern, SplitPattern::FromRegex(kGpt2Regex));
    spec->bpe.byte_level = true;
  } else if (type == "Digits") {
    const bool individual = BoolOf(json, "individual_digits", false);
    ASSIGN_OR_RETURN(step.pattern, SplitPattern::FromRegex(R"(\p{N})"));
    step.behavior = individual ? SplitBehavior::kIsolated : SplitBehavior::kContiguous;
  } else if (type == "Metaspace") {
    RETURN_IF_ERROR(ReadMetaspace(json, &step));
  } else {
    return Unimplemented("type \"{}\" is not implemented", type);
  }
  spec->pre_tokenizer.push_back(std::move(step));
  return OkStatus();
}

// The ids of a special token of TemplateProcessing.
Status AppendTemplateIds(const Json& json, const std::string& name, std::vector<int32_t>* ids) {
  const auto table = json.find("special_tokens");
  if (table == json.end() || !table->is_object() || !table->contains(name)) {
    return InvalidArgument("TemplateProcessing names \"{}\", which its special_tokens lack", name);
  }
  const Json& entry = (*table)[name];
  if (!entry.is_object() || !entry.contains("ids") || !entry["ids"].is_array()) {
    return InvalidArgument("the special token \"{}\" of TemplateProcessing has no ids", name);
  }
  for (const Json& id : entry["ids"]) {
    if (!id.is_number_unsigned() || id.get<uint64_t>() >= Vocabulary::kMaxTokens) {
      return InvalidArgument("the special token \"{}\" of TemplateProcessing has a bad id", name);
    }
    ids->push_back(id.get<int32_t>());
  }
  return OkStatus();
}

Status ReadTemplateProcessing(const Json& json, TokenizerSpec* spec) {
  const auto single = json.find("single");
  if (single == json.end() || !single->is_array())
    return InvalidArgument("TemplateProcessing has no list \"single\"");
  std::vector<int32_t> before;
  std::vector<int32_t> after;
  size_t num_sequences = 0;
  for (const Json& item : *single) {
    if (item.is_object() && item.contains("Sequence")) {
      ++num_sequences;
    } else if (item.is_object() && item.contains("SpecialToken")) {
      std::vector<int32_t>* ids = num_sequences == 0 ? &before : &after;
      RETURN_IF_ERROR(AppendTemplateIds(json, StringOf(item["SpecialToken"], "id"), ids));
    } else {
      return InvalidArgument("an item of TemplateProcessing is neither a Sequence nor a SpecialToken");
    }
  }
  if (num_sequences != 1)
    return Unimplemented("TemplateProcessing with {} sequences is not implemented", num_sequences);
  spec->prefix_ids.insert(spec->prefix_ids.begin(), before.begin(), before.end());
  spec->suffix_ids.insert(spec->suffix_ids.end(), after.begin(), after.end());
  return OkStatus();
}

Status ReadStripDecoder(const Json& json, DecoderOptions* options) {
  options->strip_char = StringOf(json, "content");
  options->strip_left = SizeOf(json, "start");
  if (SizeOf(json, "stop") != 0) return Unimplemented("Strip with \"stop\" is not implemented");
  if (options->strip_char.empty()) return InvalidArgument("Strip has no content");
  return OkStatus();
}

// Text decoders come in one order: replacements, ByteFallback, Fuse, Strip.
class TextDecoderReader {
 public:
  explicit TextDecoderReader(DecoderOptions* options) : options_(options) {}
  Status Read(const Json& json, const std::string& type) {
    if (options_->kind == DecoderOptions::Kind::kByteLevel) {
      return Unimplemented("\"{}\" behind ByteLevel is not implemented", type);
    }
    if (type == "ByteLevel") {
      if (options_->kind != DecoderOptions::Kind::kWords)
        return Unimplemented("ByteLevel behind another decoder is not implemented");
      options_->kind = DecoderOptions::Kind::kByteLevel;
      return OkStatus();
    }
    options_->kind = DecoderOptions::Kind::kText;
    if (type == "Replace" || type == "Metaspace") {
      if (options_->byte_fallback || fused_)
        return Unimplemented("\"{}\" behind ByteFallback or Fuse is not implemented", type);
      return type == "Replace" ? ReadReplace(json) : ReadMetaspace(json);
    }
    if (type == "ByteFallback") {
      if (fused_) return Unimplemented("ByteFallback behind Fuse is not implemented");
      options_->byte_fallback = true;
      return OkStatus();
    }
    if (type == "Fuse") {
      fused_ = true;
      return OkStatus();
    }
    if (type == "Strip") {
      if (!fused_ || options_->strip_left > 0)
        return Unimplemented("Strip before Fuse, or twice, is not implemented");
      return ReadStripDecoder(json, options_);
    }
    return Unimplemented("type \"{}\" is not implemented", type);
  }

 private:
  Status ReadReplace(const Json& json) {
    ASSIGN_OR_RETURN(std::string from, LiteralPattern(json));
    options_->replacements.emplace_back(std::move(from), StringOf(json, "content"));
    return OkStatus();
  }
  Status ReadMetaspace(const Json& json) {
    const std::string mark = StringOf(json, "replacement", "\u2581");
    if (mark.empty() || !options_->drop_in_first.empty())
      return InvalidArgument("Metaspace has no replacement, or stands twice");
    const std::string scheme =
        StringOf(json, "prepend_scheme", BoolOf(json, "add_prefix_space", true) ? "always" : "never");
    if (scheme != "never") options_->drop_in_first = mark;
    options_->replacements.emplace_back(mark, " ");
    return OkStatus();
  }
  DecoderOptions* options_;
  bool fused_ = false;
};

// The text of a token in tokenizer_config.json: "<s>", or {"content": "<s>"}.
std::string ConfigToken(const Json& config, const char* key) {
  const auto it = config.find(key);
  if (it == config.end()) return {};
  return it->is_object() ? StringOf(*it, "content") : StringOf(config, key);
}

}  // namespace

Status ReadAddedTokens(const Json& json, TokenizerSpec* spec) {
  if (json.is_null()) return OkStatus();
  if (!json.is_array()) return InvalidArgument("it is not a list");
  for (const Json& item : json) {
    if (!item.is_object()) return InvalidArgument("an entry is not an object");
    AddedToken token;
    token.text = StringOf(item, "content");
    if (token.text.empty()) continue;
    token.special = BoolOf(item, "special", false);
    token.single_word = BoolOf(item, "single_word", false);
    token.lstrip = BoolOf(item, "lstrip", false);
    token.rstrip = BoolOf(item, "rstrip", false);
    token.normalized = BoolOf(item, "normalized", !token.special);
    token.id = spec->vocabulary.Find(token.text);
    if (token.id < 0) {
      const auto id = item.find("id");
      if (id == item.end() || !id->is_number_unsigned() || id->get<uint64_t>() >= Vocabulary::kMaxTokens) {
        return InvalidArgument("\"{}\" has no usable id", token.text);
      }
      token.id = id->get<int32_t>();
      RETURN_IF_ERROR(spec->vocabulary.Add(token.text, token.id));
    }
    spec->added_tokens.push_back(std::move(token));
  }
  return OkStatus();
}

Status ReadNormalizer(const Json& json, std::vector<NormalizerStep>* steps) {
  return ForEachComponent(json, "normalizers", [&](const Json& component, const std::string& type) {
    return ReadNormalizerStep(component, type, steps);
  });
}

Status ReadPreTokenizer(const Json& json, TokenizerSpec* spec) {
  return ForEachComponent(json, "pretokenizers", [&](const Json& component, const std::string& type) {
    return ReadPreTokenizerStep(component, type, spec);
  });
}

Status ReadPostProcessor(const Json& json, TokenizerSpec* spec) {
  return ForEachComponent(json, "processors", [&](const Json& component, const std::string& type) {
    if (type == "ByteLevel") return OkStatus();  // it moves offsets only
    if (type == "TemplateProcessing") return ReadTemplateProcessing(component, spec);
    return Unimplemented("type \"{}\" is not implemented", type);
  });
}

Status ReadDecoder(const Json& json, DecoderOptions* options) {
  TextDecoderReader reader(options);
  return ForEachComponent(json, "decoders", [&](const Json& component, const std::string& type) {
    return reader.Read(component, type);
  });
}

Status ReadTokenizerConfig(const Json& config, TokenizerSpec* spec) {
  if (!config.is_object()) return OkStatus();
  const auto find = [&](const char* key) -> std::optional<int32_t> {
    const std::string text = ConfigToken(config, key);
    const int32_t id = text.empty() ? -1 : spec->vocabulary.Find(text);
    if (id < 0) return std::nullopt;
    return id;
  };
  spec->bos_id = find("bos_token");
  spec->eos_id = find("eos_token");
  if (spec->eos_id.has_value()) spec->end_ids.push_back(*spec->eos_id);
  const bool adds_nothing = spec->prefix_ids.empty() && spec->suffix_ids.empty();
  if (adds_nothing && BoolOf(config, "add_bos_token", false) && spec->bos_id.has_value()) {
    spec->prefix_ids.push_back(*spec->bos_id);
  }
  return OkStatus();
}

}  // namespace firebrick
