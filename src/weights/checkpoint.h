// Checkpoint: what a model file says, and nothing more. Two readers: GGUF (single or split) and safetensors
// folders. Thread: built by one thread, then const and readable by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file.h"
#include "base/json_fwd.h"
#include "base/status.h"
#include "tensor/weight_type.h"

namespace firebrick {

// A tensor as the file holds it. `data` points into a mapping that the Checkpoint owns.
struct RawTensor {
  std::string name;
  WeightType type = WeightType::kF32;
  std::vector<int64_t> shape;       // outermost first, the order of Hugging Face: [out, in]
  std::span<const std::byte> data;  // exactly the bytes that type and shape ask for
  uint64_t file_offset = 0;         // of data, in its file
  uint32_t file_index = 0;          // which of files()

  int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rows() const {
    int64_t count = 1;
    for (size_t d = 0; d + 1 < shape.size(); ++d) count *= shape[d];
    return count;
  }
  int64_t NumElements() const {
    int64_t count = 1;
    for (const int64_t dim : shape) count *= dim;
    return count;
  }
};

// A tensor of integers or booleans in a safetensors file: no weight, and no model here uses one (position
// ids, mask buffers). It is listed so that `inspect` shows it; FindTensor does not find it.
struct OpaqueTensor {
  std::string name;
  std::string dtype;  // as the file spells it: "I64"
  std::vector<int64_t> shape;
  uint64_t num_bytes = 0;
  uint32_t file_index = 0;
};

enum class CheckpointKind : uint8_t { kGguf, kSafetensors };

// One GGUF metadata value, widened: integers to int64/uint64, floats to double. Arrays hold one element kind.
using GgufValue = std::variant<bool, int64_t, uint64_t, double, std::string, std::vector<bool>,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

class Checkpoint {
 public:
  // Opens a .gguf file (any shard of a split set), a .safetensors file, or a folder that holds either.
  // Validates everything that a reader must (see docs/formats): an error names file, tensor, offset and
  // remedy.
  static Result<Checkpoint> Open(const std::string& path);

  CheckpointKind kind() const { return kind_; }
  const std::string& path() const { return path_; }
  std::span<const MappedFile> files() const { return files_; }
  std::span<const RawTensor> tensors() const { return tensors_; }  // in file order
  const RawTensor* FindTensor(std::string_view name) const;        // nullptr where absent

  std::span<const OpaqueTensor> opaque_tensors() const { return opaque_tensors_; }

  // GGUF metadata; nullptr where absent or not GGUF.
  const GgufValue* FindMetadata(std::string_view key) const;
  std::span<const std::pair<std::string, GgufValue>> metadata() const { return metadata_; }

  // The folder's JSON files (safetensors); null Json where the file is absent. A GGUF has none.
  const Json& config() const;             // config.json
  const Json& generation_config() const;  // generation_config.json
  // Folder of tokenizer.json, tokenizer_config.json and chat_template.jinja; empty for GGUF.
  const std::string& folder() const { return folder_; }

 private:
  friend class GgufReader;
  friend class SafetensorsReader;
  Status IndexNames();
  CheckpointKind kind_ = CheckpointKind::kGguf;
  std::string path_;
  std::string folder_;
  std::vector<MappedFile> files_;
  std::vector<RawTensor> tensors_;
  std::vector<OpaqueTensor> opaque_tensors_;
  std::vector<std::pair<std::string_view, size_t>> by_name_;  // sorted; into tensors_
  std::vector<std::pair<std::string, GgufValue>> metadata_;
  std::shared_ptr<const Json> config_;             // nullptr: a null Json
  std::shared_ptr<const Json> generation_config_;  // likewise
};

}  // namespace firebrick
