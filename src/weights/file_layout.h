// What a model file begins with and where its tensors lie, computed before a byte of weights is written, so
// that tensors can be written in any order and by several threads. Two formats: GGUF v3 and safetensors.
// Thread: any; pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "base/status.h"
#include "tensor/weight_type.h"

namespace firebrick {

// A tensor that shall be written; shape outermost first.
struct TensorSpec {
  std::string name;
  WeightType type = WeightType::kF32;
  std::vector<int64_t> shape;

  int64_t cols() const { return shape.empty() ? 1 : shape.back(); }
  int64_t rows() const {
    int64_t count = 1;
    for (size_t i = 0; i + 1 < shape.size(); ++i) count *= shape[i];
    return count;
  }
};

// GGUF metadata to write, in the types that converters use. An int is int32, an array of ints is an array of
// int32.
using GgufMetadataValue = std::variant<bool, uint32_t, uint64_t, float, std::string, std::vector<int32_t>,
                                       std::vector<float>, std::vector<std::string>>;
using GgufMetadata = std::vector<std::pair<std::string, GgufMetadataValue>>;

struct FileLayout {
  std::string header;             // the file's first bytes, padding included
  std::vector<uint64_t> offsets;  // of each tensor, from the file's begin
  uint64_t file_bytes = 0;
};

// GGUF version 3, alignment 32. Fails on what the reader would refuse: too long, doubled or empty names, more
// than 4 dimensions, a dimension of 0, columns that are no multiple of the block.
Result<FileLayout> LayOutGguf(const GgufMetadata& metadata, std::span<const TensorSpec> tensors);

// safetensors with {"format": "pt"} as metadata, as readers of the Python library expect. Types f32, f16 and
// bf16.
Result<FileLayout> LayOutSafetensors(std::span<const TensorSpec> tensors);

}  // namespace firebrick
