#include "weights/checkpoint.h"

#include <algorithm>
#include <filesystem>

#include "base/json.h"
#include "weights/gguf.h"
#include "weights/gguf_reader.h"
#include "weights/safetensors_reader.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

// A folder of safetensors, or one that holds a single GGUF model (one file, or one split set).
Result<Checkpoint> OpenFolder(const std::string& folder) {
  if (SafetensorsReader::IsModelFolder(folder)) return SafetensorsReader::ReadFolder(folder);
  std::vector<std::string> models;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string path = it->path().string();
    if (path.ends_with(".gguf") && ParseGgufSplitName(path).index == 0) models.push_back(path);
  }
  if (error) return NotFound("cannot list {}: {}", folder, error.message());
  std::sort(models.begin(), models.end());
  if (models.size() == 1) return GgufReader::Read(models[0]);
  if (models.empty()) {
    return NotFound("{} holds no model: neither .safetensors nor .gguf files; give a model's file or folder",
                    folder);
  }
  return InvalidArgument("{} holds {} GGUF models; name one of them, for example {}", folder, models.size(),
                         models[0]);
}

const Json& OrNull(const std::shared_ptr<const Json>& json) {
  static const Json kNull;
  return json != nullptr ? *json : kNull;
}

}  // namespace

Result<Checkpoint> Checkpoint::Open(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) return OpenFolder(path);
  if (path.ends_with(".safetensors")) return SafetensorsReader::ReadFile(path);
  if (path.ends_with(".safetensors.index.json")) {
    const fs::path folder = fs::path(path).parent_path();
    return SafetensorsReader::ReadFolder(folder.empty() ? "." : folder.string());
  }
  for (const std::string_view pickle : {".bin", ".pt", ".pth", ".ckpt", ".pkl"}) {
    if (!path.ends_with(pickle)) continue;
    return Unimplemented(
        "{} looks like a PyTorch pickle, which can run code when read; use the model's safetensors files or "
        "a GGUF file",
        path);
  }
  return GgufReader::Read(path);
}

const RawTensor* Checkpoint::FindTensor(std::string_view name) const {
  const auto found =
      std::lower_bound(by_name_.begin(), by_name_.end(), name,
                       [](const auto& entry, std::string_view key) { return entry.first < key; });
  return found != by_name_.end() && found->first == name ? &tensors_[found->second] : nullptr;
}

const GgufValue* Checkpoint::FindMetadata(std::string_view key) const {
  for (const auto& [name, value] : metadata_) {
    if (name == key) return &value;
  }
  return nullptr;
}

const Json& Checkpoint::config() const { return OrNull(config_); }

const Json& Checkpoint::generation_config() const { return OrNull(generation_config_); }

Status Checkpoint::IndexNames() {
  by_name_.clear();
  by_name_.reserve(tensors_.size());
  for (size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace_back(tensors_[i].name, i);
  std::sort(by_name_.begin(), by_name_.end());
  const auto twice = std::adjacent_find(by_name_.begin(), by_name_.end(),
                                        [](const auto& a, const auto& b) { return a.first == b.first; });
  if (twice == by_name_.end()) return OkStatus();
  const RawTensor& first = tensors_[twice->second];
  const RawTensor& second = tensors_[std::next(twice)->second];
  return DataLoss(
      "tensor '{}' is there twice: at offset {} of {} and at offset {} of {}; fetch or convert the model "
      "again",
      first.name, first.file_offset, files_[first.file_index].path(), second.file_offset,
      files_[second.file_index].path());
}

}  // namespace firebrick
