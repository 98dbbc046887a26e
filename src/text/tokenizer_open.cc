// Tokenizer::Open: which file of a model holds its tokenizer.
#include <filesystem>
#include <string>
#include <system_error>

#include "base/file.h"
#include "base/json.h"
#include "text/tokenizer.h"
#include "weights/checkpoint.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxFileBytes = 1U << 30;

Result<Tokenizer> FromFiles(const std::string& json_path, const std::string& config_path) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(json_path, kMaxFileBytes));
  Json config;
  std::error_code error;
  if (std::filesystem::exists(config_path, error)) {
    ASSIGN_OR_RETURN(const std::string config_text, ReadFile(config_path, kMaxFileBytes));
    Result<Json> parsed = ParseJson(config_text);
    if (!parsed.ok()) return parsed.status().WithContext(config_path);
    config = *std::move(parsed);
  }
  Result<Tokenizer> tokenizer = Tokenizer::FromJson(text, &config);
  if (!tokenizer.ok()) return tokenizer.status().WithContext(json_path);
  return tokenizer;
}

}  // namespace

Result<Tokenizer> Tokenizer::Open(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path where(path);
  if (fs::is_directory(where, error)) {
    const std::string json = (where / "tokenizer.json").string();
    if (fs::exists(json, error)) return FromFiles(json, (where / "tokenizer_config.json").string());
  } else if (where.extension() == ".json") {
    return FromFiles(path, (where.parent_path() / "tokenizer_config.json").string());
  }
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  if (checkpoint.kind() == CheckpointKind::kGguf) return FromGguf(checkpoint);
  return NotFound("{} holds no tokenizer.json; put the one of the model beside its weights", path);
}

}  // namespace firebrick
