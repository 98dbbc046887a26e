#include <filesystem>

#include "base/file.h"
#include "base/json.h"
#include "weights/synthetic/tokenizer.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

constexpr uint64_t kMaxTokenizerBytes = 64 << 20;
// nlohmann's sorted objects: the ordered ones of base/json.h search linearly, too slow for a vocabulary.
using SortedJson = nlohmann::json;

// A file's text; empty where it is not there.
Result<std::string> ReadIfThere(const fs::path& path) {
  Result<std::string> text = ReadFile(path.string(), kMaxTokenizerBytes);
  if (!text.ok() && text.status().code() == StatusCode::kNotFound) return std::string();
  return text;
}

// bos_token and eos_token of tokenizer_config.json: a string, or an object with `content`.
std::string TokenNamed(const SortedJson& config, const char* key) {
  if (!config.is_object() || !config.contains(key)) return {};
  const SortedJson& token = config[key];
  if (token.is_string()) return token.get<std::string>();
  if (token.is_object() && token.contains("content") && token["content"].is_string()) {
    return token["content"].get<std::string>();
  }
  return {};
}

// tokens and types by id, from model.vocab and added_tokens.
struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<int32_t> types;
  int64_t used = 0;  // highest id + 1

  Status Put(const SortedJson& id, const std::string& token, int32_t type) {
    const int64_t index = id.is_number_integer() ? id.get<int64_t>() : -1;
    const auto size = static_cast<int64_t>(tokens.size());
    if (index < 0 || index >= size) {
      return InvalidArgument(
          "token '{}' has the id {}, outside of this shape's {} tokens; choose a shape with a larger "
          "vocabulary, or another tokenizer",
          token, id.dump(), size);
    }
    tokens[static_cast<size_t>(index)] = token;
    types[static_cast<size_t>(index)] = type;
    used = std::max(used, index + 1);
    return OkStatus();
  }
  int32_t Find(const std::string& token) const {
    const auto found = std::find(tokens.begin(), tokens.end(), token);
    return token.empty() || found == tokens.end() ? -1 : static_cast<int32_t>(found - tokens.begin());
  }
};

constexpr int32_t kTypeNormal = 1;
constexpr int32_t kTypeControl = 3;
constexpr int32_t kTypeUserDefined = 4;
constexpr int32_t kTypeUnused = 5;
constexpr int32_t kTypeByte = 6;

Result<Vocabulary> ReadVocabulary(const SortedJson& json, bool byte_fallback, int64_t size) {
  Vocabulary vocabulary;
  vocabulary.tokens.resize(static_cast<size_t>(size));
  vocabulary.types.assign(static_cast<size_t>(size), kTypeUnused);
  for (const auto& [token, id] : json["model"]["vocab"].items()) {
    const bool is_byte =
        byte_fallback && token.size() == 6 && token.starts_with("<0x") && token.back() == '>';
    RETURN_IF_ERROR(vocabulary.Put(id, token, is_byte ? kTypeByte : kTypeNormal));
  }
  const SortedJson added = json.value("added_tokens", SortedJson::array());
  for (const SortedJson& token : added) {
    const bool special = token.value("special", false);
    RETURN_IF_ERROR(vocabulary.Put(token.value("id", SortedJson()), token.value("content", std::string()),
                                   special ? kTypeControl : kTypeUserDefined));
  }
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (vocabulary.types[i] == kTypeUnused) vocabulary.tokens[i] = fmt::format("[UNUSED{}]", i);
  }
  return vocabulary;
}

std::vector<std::string> ReadMerges(const SortedJson& model) {
  std::vector<std::string> merges;
  for (const SortedJson& merge : model.value("merges", SortedJson::array())) {
    if (merge.is_string()) merges.push_back(merge.get<std::string>());
    if (merge.is_array() && merge.size() == 2) {
      merges.push_back(merge[0].get<std::string>() + " " + merge[1].get<std::string>());
    }
  }
  return merges;
}

Status FillFromJson(const std::string& file, const SortedJson& json, const SortedJson& config, int64_t vocab,
                    TokenizerFiles* files) {
  const bool is_bpe = json.is_object() && json.contains("model") && json["model"].is_object() &&
                      json["model"].value("type", std::string()) == "BPE" && json["model"].contains("vocab");
  if (!is_bpe) {
    return Unimplemented(
        "{} is no tokenizer.json with a BPE model; give one of the model family of the shape", file);
  }
  const bool byte_fallback = json["model"].value("byte_fallback", false);
  Result<Vocabulary> read = ReadVocabulary(json, byte_fallback, vocab);
  if (!read.ok()) return read.status().WithContext(file);
  Vocabulary& vocabulary = *read;
  files->bos_id = vocabulary.Find(TokenNamed(config, "bos_token"));
  files->eos_id = vocabulary.Find(TokenNamed(config, "eos_token"));
  if (files->eos_id < 0) files->eos_id = static_cast<int32_t>(vocabulary.used - 1);
  if (files->bos_id < 0) files->bos_id = files->eos_id;
  files->gguf = {{"tokenizer.ggml.model", byte_fallback ? "llama" : "gpt2"},
                 {"tokenizer.ggml.pre", "default"}};
  if (byte_fallback) {
    std::vector<float> scores(vocabulary.tokens.size());
    for (size_t i = 0; i < scores.size(); ++i) scores[i] = -static_cast<float>(i);
    files->gguf.emplace_back("tokenizer.ggml.scores", std::move(scores));
  } else {
    files->gguf.emplace_back("tokenizer.ggml.merges", ReadMerges(json["model"]));
  }
  files->gguf.emplace_back("tokenizer.ggml.tokens", std::move(vocabulary.tokens));
  files->gguf.emplace_back("tokenizer.ggml.token_type", std::move(vocabulary.types));
  files->gguf.emplace_back("tokenizer.ggml.bos_token_id", static_cast<uint32_t>(files->bos_id));
  files->gguf.emplace_back("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(files->eos_id));
  files->gguf.emplace_back("tokenizer.huggingface.json", files->tokenizer_json);
  std::string chat_template = files->chat_template_jinja;
  if (chat_template.empty() && config.is_object() && config.contains("chat_template") &&
      config["chat_template"].is_string()) {
    chat_template = config["chat_template"].get<std::string>();
  }
  if (!chat_template.empty()) files->gguf.emplace_back("tokenizer.chat_template", chat_template);
  return OkStatus();
}

}  // namespace

Result<TokenizerFiles> CopyTokenizer(const std::string& path, int64_t vocab) {
  if (path.ends_with(".xz") || path.ends_with(".gz")) {
    return InvalidArgument("{} is compressed; unpack it first (for example: xz -dk FILE)", path);
  }
  std::error_code error;
  const bool is_folder = fs::is_directory(path, error);
  const fs::path folder = is_folder ? fs::path(path) : fs::path(path).parent_path();
  const std::string file = is_folder ? (folder / "tokenizer.json").string() : path;
  TokenizerFiles files;
  ASSIGN_OR_RETURN(files.tokenizer_json, ReadFile(file, kMaxTokenizerBytes));
  ASSIGN_OR_RETURN(files.tokenizer_config_json, ReadIfThere(folder / "tokenizer_config.json"));
  ASSIGN_OR_RETURN(files.chat_template_jinja, ReadIfThere(folder / "chat_template.jinja"));
  try {
    const SortedJson json = SortedJson::parse(files.tokenizer_json);
    SortedJson config;
    if (!files.tokenizer_config_json.empty()) config = SortedJson::parse(files.tokenizer_config_json);
    RETURN_IF_ERROR(FillFromJson(file, json, config, vocab, &files));
  } catch (const SortedJson::exception& failure) {
    return InvalidArgument("{} or its tokenizer_config.json cannot be used: {}", file, failure.what());
  }
  return files;
}

}  // namespace firebrick
