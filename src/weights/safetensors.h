// safetensors: what one file says. docs/formats/safetensors.md is the contract.
// Source: ../shared/reference/models-and-formats.md section 3.1. Thread: any; the functions keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

struct SafetensorsLimits {
  static constexpr uint64_t kHeaderBytes = 100'000'000;
  static constexpr uint64_t kTensors = 1 << 20;
  static constexpr uint64_t kNameBytes = 1024;
  static constexpr uint64_t kDimensions = 8;
};

// One parsed file. tensors[i].data points into the bytes that were parsed and may be unaligned.
// `__metadata__` is checked (strings only) and dropped: nothing reads it.
struct SafetensorsFile {
  std::vector<RawTensor> tensors;  // in the order of their offsets
  std::vector<OpaqueTensor> opaque;
};

// Parses a whole file that lies in `bytes`. `file_name` is for errors, `file_index` goes into the tensors.
Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes, std::string_view file_name,
                                         uint32_t file_index);

}  // namespace firebrick
