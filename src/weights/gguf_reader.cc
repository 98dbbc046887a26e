#include "weights/gguf_reader.h"

#include <iterator>

#include "weights/gguf.h"

namespace firebrick {
namespace {

// An integer of the metadata, whatever its width; `missing` where it is absent or no integer.
int64_t FindInteger(const GgufFile& file, std::string_view key, int64_t missing) {
  for (const auto& [name, value] : file.metadata) {
    if (name != key) continue;
    if (const auto* number = std::get_if<uint64_t>(&value)) {
      return *number > INT64_MAX ? missing : static_cast<int64_t>(*number);
    }
    if (const auto* number = std::get_if<int64_t>(&value)) return *number;
  }
  return missing;
}

}  // namespace

Status GgufReader::AddFile(const std::string& path, uint32_t split_index, uint32_t split_count,
                           Checkpoint* out) {
  Result<MappedFile> mapped = MappedFile::Open(path);
  if (!mapped.ok()) {
    if (split_count < 2) return mapped.status();
    return mapped.status().WithContext(
        fmt::format("shard {} of {}; put all shards into one folder", split_index + 1, split_count));
  }
  const auto file_index = static_cast<uint32_t>(out->files_.size());
  ASSIGN_OR_RETURN(GgufFile file, ParseGguf(mapped->bytes(), path, file_index));
  const int64_t count = FindInteger(file, "split.count", 1);
  const int64_t index = FindInteger(file, "split.no", 0);
  if (count > 1 && split_count < 2) {
    return InvalidArgument(
        "{} is one of {} shards by its metadata, but is not named so; name the shards "
        "NAME-00001-of-{:05}.gguf and so on, in one folder",
        path, count, count);
  }
  if (split_count > 1 && (count != split_count || index != split_index)) {
    return DataLoss(
        "{}: its name says shard {} of {}, its metadata (split.no, split.count) says shard {} of {}; the "
        "shards are "
        "mixed up: fetch them again",
        path, split_index + 1, split_count, index + 1, count);
  }
  std::move(file.tensors.begin(), file.tensors.end(), std::back_inserter(out->tensors_));
  if (split_index == 0) out->metadata_ = std::move(file.metadata);
  const int64_t total = FindInteger(file, "split.tensors.count", -1);
  if (split_index + 1 == split_count && split_count > 1 && total >= 0 &&
      static_cast<uint64_t>(total) != out->tensors_.size()) {
    return DataLoss("{}: split.tensors.count says {} tensors, the {} shards hold {}; fetch them again", path,
                    total, split_count, out->tensors_.size());
  }
  out->files_.push_back(std::move(mapped).value());
  return OkStatus();
}

Result<Checkpoint> GgufReader::Read(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.kind_ = CheckpointKind::kGguf;
  checkpoint.path_ = path;
  GgufSplitName split = ParseGgufSplitName(path);
  if (split.count > 1) {
    // A file may merely be named like a shard: its metadata decides.
    ASSIGN_OR_RETURN(const MappedFile mapped, MappedFile::Open(path));
    ASSIGN_OR_RETURN(const GgufFile file, ParseGguf(mapped.bytes(), path, 0));
    if (FindInteger(file, "split.count", 1) < 2) split.count = 1;
  }
  if (split.count < 2) {
    RETURN_IF_ERROR(AddFile(path, 0, 1, &checkpoint));
  } else {
    for (uint32_t i = 0; i < split.count; ++i) {
      RETURN_IF_ERROR(
          AddFile(FormatGgufSplitName(split.prefix, i, split.count), i, split.count, &checkpoint));
    }
  }
  RETURN_IF_ERROR(checkpoint.IndexNames());
  return checkpoint;
}

}  // namespace firebrick
