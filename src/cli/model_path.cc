#include "cli/model_path.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "base/file.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

std::string EnvironmentOr(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  return value != nullptr && *value != '\0' ? value : otherwise;
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// ORG/NAME in the letters that a hub allows, and no path with dots.
bool LooksLikeHubName(const std::string& model) {
  const auto allowed = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '_' || c == '.' || c == '/';
  };
  return std::count(model.begin(), model.end(), '/') == 1 && model.front() != '/' && model.back() != '/' &&
         model.front() != '.' && std::all_of(model.begin(), model.end(), allowed) &&
         !model.ends_with(".gguf") && !model.ends_with(".safetensors");
}

Result<std::string> FindInHubCache(const std::string& model) {
  constexpr uint64_t kMaxRefBytes = 256;
  std::string name = model;
  name.replace(name.find('/'), 1, "--");
  const std::string folder = HubCacheFolder() + "/models--" + name;
  Result<std::string> commit = ReadFile(folder + "/refs/main", kMaxRefBytes);
  if (commit.ok()) {
    while (!commit->empty() && commit->back() == '\n') commit->pop_back();
    std::string snapshot = folder + "/snapshots/" + *commit;
    const bool one_name = commit->find_first_of("/.") == std::string::npos;
    if (one_name && Exists(snapshot)) return snapshot;
  }
  return NotFound(
      "no file or folder '{}', and no hub model of that name in {}; get it with 'firebrick pull {}'", model,
      HubCacheFolder(), model);
}

}  // namespace

std::string CacheFolder() {
  return EnvironmentOr("XDG_CACHE_HOME", EnvironmentOr("HOME", "/root") + "/.cache");
}

std::string HubCacheFolder() {
  return EnvironmentOr("HF_HUB_CACHE", EnvironmentOr("HF_HOME", CacheFolder() + "/huggingface") + "/hub");
}

std::string DefaultModelPath() { return CacheFolder() + "/firebrick/models/smollm2-135m-instruct-q4_1.gguf"; }

Result<std::string> ResolveModelPath(const std::string& model) {
  if (model.empty()) {
    std::string path = DefaultModelPath();
    if (Exists(path)) return path;
    return NotFound(
        "no MODEL given and the default model is not at {}; get it with 'scripts/fetch-models', or name a "
        "file, "
        "a folder or a hub model",
        path);
  }
  if (Exists(model)) return model;
  if (LooksLikeHubName(model)) return FindInHubCache(model);
  return NotFound(
      "no file or folder '{}'; MODEL is a .gguf file, a safetensors folder or a hub name like org/name",
      model);
}

}  // namespace firebrick
