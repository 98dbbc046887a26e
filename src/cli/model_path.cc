#include "cli/model_path.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/env.h"
#include "base/file.h"
#include "cli/hub/hub_name.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

// The snapshot that refs/main names; nothing where there is none.
std::optional<std::string> FindSnapshot(const std::string& folder) {
  constexpr uint64_t kMaxRefBytes = 256;
  Result<std::string> commit = ReadFile(folder + "/refs/main", kMaxRefBytes);
  if (!commit.ok()) return std::nullopt;
  while (!commit->empty() && commit->back() == '\n') commit->pop_back();
  std::string snapshot = folder + "/snapshots/" + *commit;
  const bool one_name = commit->find_first_of("/.") == std::string::npos;
  return one_name && Exists(snapshot) ? std::optional(std::move(snapshot)) : std::nullopt;
}

// The file of the snapshot that `selector` means: the first part of a split one.
Result<std::string> FindSelected(const std::string& snapshot, const std::string& selector) {
  std::vector<std::string> files;
  std::error_code error;
  for (fs::recursive_directory_iterator it(snapshot, error), end; !error && it != end; it.increment(error)) {
    // Lexically: relative() would follow the links into blobs/.
    if (!it->is_directory(error)) files.push_back(it->path().lexically_relative(snapshot).string());
  }
  std::sort(files.begin(), files.end());
  ASSIGN_OR_RETURN(const std::vector<std::string> chosen, SelectHubFiles(files, selector, {}));
  return snapshot + "/" + chosen.front();
}

Result<std::string> FindInHubCache(const std::string& model) {
  ASSIGN_OR_RETURN(const HubName name, ParseHubName(model));
  if (const auto snapshot = FindSnapshot(HubCacheFolder() + "/" + HubFolderName(name.repo))) {
    if (name.selector.empty()) return *snapshot;
    if (Result<std::string> file = FindSelected(*snapshot, name.selector); file.ok()) return file;
  }
  return NotFound(
      "no file or folder '{}', and no hub model of that name in {}; get it with 'firebrick pull {}'", model,
      HubCacheFolder(), model);
}

}  // namespace

std::string HubCacheFolder() {
  return GetEnv("HF_HUB_CACHE").value_or(GetEnv("HF_HOME").value_or(CacheFolder() + "/huggingface") + "/hub");
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
  const bool is_file_name = model.ends_with(".gguf") || model.ends_with(".safetensors");
  if (LooksLikeHubName(model) && (!is_file_name || model.find(':') != std::string::npos))
    return FindInHubCache(model);
  return NotFound(
      "no file or folder '{}'; MODEL is a .gguf file, a safetensors folder or a hub name like org/name",
      model);
}

}  // namespace firebrick
