// GgufReader: a .gguf file, or a split set of them, to a Checkpoint. Thread: any; no state.
#pragma once

#include <string>

#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

class GgufReader {
 public:
  // `path` names a single file or any shard of a split set; the others are found beside it.
  static Result<Checkpoint> Read(const std::string& path);

 private:
  static Status AddFile(const std::string& path, uint32_t split_index, uint32_t split_count, Checkpoint* out);
};

}  // namespace firebrick
