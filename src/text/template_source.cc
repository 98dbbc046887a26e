#include "text/template_source.h"

#include <filesystem>

#include "base/file.h"
#include "base/json.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxTemplateFileBytes = 4 << 20;
constexpr uint64_t kMaxConfigBytes = 64 << 20;  // tokenizer_config.json may list every added token

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

// A JSON file of the folder; null where it is absent.
Result<Json> ReadJson(const std::string& path) {
  if (!Exists(path)) return Json();
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxConfigBytes));
  Result<Json> json = ParseJson(text);
  if (!json.ok()) return json.status().WithContext(path);
  return json;
}

// `value` is one template, or a list of {"name": …, "template": …}. Nothing where it holds no template.
std::optional<std::string> PickTemplate(const Json& value, std::string_view name) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return std::nullopt;
  std::optional<std::string> fallback;
  for (const Json& entry : value) {
    if (!entry.is_object()) continue;
    const auto entry_name = entry.find("name");
    const auto text = entry.find("template");
    if (entry_name == entry.end() || text == entry.end() || !entry_name->is_string() || !text->is_string())
      continue;
    if (!name.empty() && *entry_name == name) return text->get<std::string>();
    if (*entry_name == "default") fallback = text->get<std::string>();
  }
  return fallback;
}

// "bos_token": "<s>", or {"content": "<s>", …}, or null.
std::optional<std::string> TokenText(const Json& config, const char* key) {
  if (!config.is_object()) return std::nullopt;
  auto token = config.find(key);
  if (token == config.end()) return std::nullopt;
  if (token->is_object()) {
    const auto content = token->find("content");
    if (content == token->end()) return std::nullopt;
    token = content;
  }
  return token->is_string() ? std::optional(token->get<std::string>()) : std::nullopt;
}

// A name becomes part of a path: one plain file name.
bool IsPlainName(std::string_view name) {
  return !name.empty() && name.find_first_of("/\\") == std::string_view::npos && name.front() != '.';
}

Status NoTemplate(const std::string& where) {
  return NotFound(
      "{} has no chat template: it is a base model; use completions (or run --raw), or give a template of "
      "your own",
      where);
}

Result<std::optional<std::string>> FindInFolder(const std::string& folder, std::string_view name,
                                                const Json& config, std::string* origin) {
  std::vector<std::string> files;
  if (IsPlainName(name)) files.push_back(fmt::format("additional_chat_templates/{}.jinja", name));
  files.emplace_back("chat_template.jinja");
  for (const std::string& file : files) {
    if (!Exists(folder + "/" + file)) continue;
    *origin = file;
    ASSIGN_OR_RETURN(std::string text, ReadFile(folder + "/" + file, kMaxTemplateFileBytes));
    return std::optional(std::move(text));
  }
  ASSIGN_OR_RETURN(const Json own_file, ReadJson(folder + "/chat_template.json"));
  const std::pair<const char*, const Json*> sources[] = {{"chat_template.json", &own_file},
                                                         {"tokenizer_config.json", &config}};
  for (const auto& [file, json] : sources) {
    if (!json->is_object() || !json->contains("chat_template")) continue;
    *origin = file;
    if (auto text = PickTemplate(json->at("chat_template"), name)) return text;
  }
  return std::optional<std::string>();
}

// The text of the token whose id a GGUF key names.
std::optional<std::string> GgufToken(const Checkpoint& checkpoint, std::string_view key) {
  const GgufValue* id = checkpoint.FindMetadata(key);
  const GgufValue* tokens = checkpoint.FindMetadata("tokenizer.ggml.tokens");
  if (id == nullptr || tokens == nullptr) return std::nullopt;
  const auto* list = std::get_if<std::vector<std::string>>(tokens);
  uint64_t index = UINT64_MAX;
  if (const auto* number = std::get_if<uint64_t>(id)) index = *number;
  if (const auto* number = std::get_if<int64_t>(id)) index = static_cast<uint64_t>(*number);
  if (list == nullptr || index >= list->size()) return std::nullopt;
  return (*list)[index];
}

}  // namespace

Result<TemplateSource> FindTemplateInFolder(const std::string& folder, std::string_view name) {
  ASSIGN_OR_RETURN(const Json config, ReadJson(folder + "/tokenizer_config.json"));
  TemplateSource source;
  ASSIGN_OR_RETURN(std::optional<std::string> text, FindInFolder(folder, name, config, &source.origin));
  if (!text.has_value()) return NoTemplate(folder);
  source.text = *std::move(text);
  source.bos_token = TokenText(config, "bos_token");
  source.eos_token = TokenText(config, "eos_token");
  return source;
}

Result<TemplateSource> FindTemplate(const Checkpoint& checkpoint, std::string_view name) {
  if (checkpoint.kind() != CheckpointKind::kGguf) return FindTemplateInFolder(checkpoint.folder(), name);
  static constexpr std::string_view kKey = "tokenizer.chat_template";
  TemplateSource source;
  const std::string* text = nullptr;
  std::vector<std::string> keys;
  if (!name.empty()) keys.push_back(fmt::format("{}.{}", kKey, name));
  keys.emplace_back(kKey);
  for (const std::string& key : keys) {
    const GgufValue* value = checkpoint.FindMetadata(key);
    text = value == nullptr ? nullptr : std::get_if<std::string>(value);
    source.origin = key;
    if (text != nullptr) break;
  }
  if (text == nullptr) return NoTemplate(checkpoint.path());
  source.text = *text;
  source.bos_token = GgufToken(checkpoint, "tokenizer.ggml.bos_token_id");
  source.eos_token = GgufToken(checkpoint, "tokenizer.ggml.eos_token_id");
  return source;
}

}  // namespace firebrick
