// SafetensorsReader: a safetensors file or a model folder to a Checkpoint. Thread: any; no state.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

// The weight_map of a model.safetensors.index.json: (tensor, shard), sorted by tensor.
using SafetensorsIndex = std::vector<std::pair<std::string, std::string>>;

// Shard names are checked to be plain file names; duplicate tensors are refused. `file_name` is for errors.
Result<SafetensorsIndex> ParseSafetensorsIndex(std::string_view text, std::string_view file_name);

class SafetensorsReader {
 public:
  // `path` names one .safetensors file; config.json and the other JSON files are taken from its folder.
  static Result<Checkpoint> ReadFile(const std::string& path);
  // `folder` holds model.safetensors, else model.safetensors.index.json, else exactly one .safetensors file.
  static Result<Checkpoint> ReadFolder(const std::string& folder);
  // Whether `folder` holds what ReadFolder reads.
  static bool IsModelFolder(const std::string& folder);

 private:
  static Status AddFile(const std::string& path, Checkpoint* out);
  static Status AddShards(const std::string& index_path, Checkpoint* out);
  static Status ReadJsonFiles(Checkpoint* out);
};

}  // namespace firebrick
