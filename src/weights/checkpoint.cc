#include "weights/checkpoint.h"

#include <algorithm>

#include "weights/gguf_reader.h"

namespace firebrick {

Result<Checkpoint> Checkpoint::Open(const std::string& path) { return GgufReader::Read(path); }

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
