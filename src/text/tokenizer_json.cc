// tokenizer.json of Hugging Face into a TokenizerSpec. The vocabulary and the merges (millions of bytes) are
// read with simdjson; the small component descriptions become Json.
#include <string>
#include <utility>

#include <simdjson.h>

#include "base/json.h"
#include "text/tokenizer.h"
#include "text/tokenizer_json_parts.h"
#include "text/tokenizer_spec.h"

namespace firebrick {
namespace {

namespace dom = simdjson::dom;
constexpr size_t kMaxJsonBytes = 1U << 30;
constexpr size_t kMaxMerges = 8 << 20;

// A member of an object as Json; null where absent.
Result<Json> Member(const dom::object& object, std::string_view key) {
  dom::element element;
  if (object[key].get(element) != simdjson::SUCCESS) return Json();
  return ParseJson(simdjson::minify(element));
}

Status ReadVocabulary(const dom::object& model, Vocabulary* vocabulary) {
  dom::object vocab;
  if (model["vocab"].get(vocab) != simdjson::SUCCESS) return InvalidArgument("model.vocab is not an object");
  for (const auto field : vocab) {
    int64_t id = 0;
    if (field.value.get(id) != simdjson::SUCCESS || id < 0 || id >= Vocabulary::kMaxTokens) {
      return InvalidArgument("model.vocab[\"{}\"] is not a token id below {}", field.key,
                             Vocabulary::kMaxTokens);
    }
    RETURN_IF_ERROR(vocabulary->Add(field.key, static_cast<int32_t>(id)).WithContext("model.vocab"));
  }
  return OkStatus();
}

// The two halves of a merge: "a b", or ["a", "b"].
bool ReadPair(const dom::element& element, std::string_view* left, std::string_view* right) {
  std::string_view text;
  if (element.get(text) == simdjson::SUCCESS) {
    const size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) return false;
    *left = text.substr(0, space);
    *right = text.substr(space + 1);
    return true;
  }
  dom::array pair;
  return element.get(pair) == simdjson::SUCCESS && pair.size() == 2 &&
         pair.at(0).get(*left) == simdjson::SUCCESS && pair.at(1).get(*right) == simdjson::SUCCESS;
}

Status ReadMerges(const dom::object& model, TokenizerSpec* spec) {
  dom::array merges;
  if (model["merges"].get(merges) != simdjson::SUCCESS) return InvalidArgument("model.merges is not a list");
  std::string joined;
  for (const dom::element element : merges) {
    const size_t rank = spec->merges.size();
    if (rank == kMaxMerges) return InvalidArgument("model.merges has more than {} entries", kMaxMerges);
    std::string_view left;
    std::string_view right;
    if (!ReadPair(element, &left, &right)) {
      return InvalidArgument("model.merges[{}] is neither \"a b\" nor [\"a\", \"b\"]", rank);
    }
    joined = left;
    joined += right;
    const Merge merge{spec->vocabulary.Find(left), spec->vocabulary.Find(right),
                      spec->vocabulary.Find(joined), static_cast<uint32_t>(rank)};
    if (merge.left < 0 || merge.right < 0 || merge.merged < 0) {
      return InvalidArgument("model.merges[{}] (\"{}\" and \"{}\") names tokens that model.vocab lacks", rank,
                             left, right);
    }
    spec->merges.push_back(merge);
  }
  return OkStatus();
}

// The components whose meaning we would change by leaving them out.
Status RefuseModelOptions(const dom::object& model) {
  std::string_view type;
  if (model["type"].get(type) == simdjson::SUCCESS && type != "BPE") {
    return Unimplemented("model type \"{}\" is not implemented; only BPE is", type);
  }
  for (const std::string_view key : {"continuing_subword_prefix", "end_of_word_suffix"}) {
    std::string_view value;
    if (model[key].get(value) == simdjson::SUCCESS && !value.empty()) {
      return Unimplemented("model.{} \"{}\" is not implemented", key, value);
    }
  }
  double dropout = 0;
  if (model["dropout"].get(dropout) == simdjson::SUCCESS && dropout != 0) {
    return Unimplemented("model.dropout {} is not implemented: it is for training", dropout);
  }
  return OkStatus();
}

bool Flag(const dom::object& model, std::string_view key) {
  bool value = false;
  return model[key].get(value) == simdjson::SUCCESS && value;
}

Status ReadModel(const dom::object& model, TokenizerSpec* spec) {
  RETURN_IF_ERROR(RefuseModelOptions(model));
  RETURN_IF_ERROR(ReadVocabulary(model, &spec->vocabulary));
  RETURN_IF_ERROR(ReadMerges(model, spec));
  spec->bpe.byte_fallback = Flag(model, "byte_fallback");
  spec->bpe.fuse_unk = Flag(model, "fuse_unk");
  spec->bpe.ignore_merges = Flag(model, "ignore_merges");
  std::string_view unknown;
  if (model["unk_token"].get(unknown) == simdjson::SUCCESS) {
    const int32_t id = spec->vocabulary.Find(unknown);
    if (id >= 0) spec->bpe.unk_id = id;
  }
  return OkStatus();
}

Status ReadDocument(const dom::object& root, TokenizerSpec* spec) {
  dom::object model;
  if (root["model"].get(model) != simdjson::SUCCESS) return InvalidArgument("it has no object \"model\"");
  RETURN_IF_ERROR(ReadModel(model, spec));
  ASSIGN_OR_RETURN(const Json added, Member(root, "added_tokens"));
  RETURN_IF_ERROR(ReadAddedTokens(added, spec).WithContext("added_tokens"));
  ASSIGN_OR_RETURN(const Json normalizer, Member(root, "normalizer"));
  RETURN_IF_ERROR(ReadNormalizer(normalizer, &spec->normalizer).WithContext("normalizer"));
  ASSIGN_OR_RETURN(const Json pre_tokenizer, Member(root, "pre_tokenizer"));
  RETURN_IF_ERROR(ReadPreTokenizer(pre_tokenizer, spec).WithContext("pre_tokenizer"));
  ASSIGN_OR_RETURN(const Json post_processor, Member(root, "post_processor"));
  RETURN_IF_ERROR(ReadPostProcessor(post_processor, spec).WithContext("post_processor"));
  ASSIGN_OR_RETURN(const Json decoder, Member(root, "decoder"));
  return ReadDecoder(decoder, &spec->decoder).WithContext("decoder");
}

}  // namespace

Result<TokenizerSpec> ReadTokenizerJson(std::string_view json) {
  if (json.size() > kMaxJsonBytes) return InvalidArgument("tokenizer.json is larger than 1 GiB");
  dom::parser parser;
  dom::object root;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(root); error != simdjson::SUCCESS) {
    return InvalidArgument("tokenizer.json does not parse as a JSON object: {}",
                           simdjson::error_message(error));
  }
  TokenizerSpec spec;
  RETURN_IF_ERROR(ReadDocument(root, &spec).WithContext("tokenizer.json"));
  return spec;
}

Result<Tokenizer> Tokenizer::FromJson(std::string_view tokenizer_json, const Json* config) {
  ASSIGN_OR_RETURN(TokenizerSpec spec, ReadTokenizerJson(tokenizer_json));
  if (config != nullptr)
    RETURN_IF_ERROR(ReadTokenizerConfig(*config, &spec).WithContext("tokenizer_config.json"));
  return FromSpec(std::move(spec));
}

}  // namespace firebrick
