// GGUF, versions 2 and 3, little-endian: what one file says. docs/formats/gguf.md is the contract.
// Source: ../shared/reference/models-and-formats.md section 3.9. Thread: any; the functions keep no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

// Type ids of metadata values.
enum class GgufValueType : uint32_t {
  kUint8 = 0,
  kInt8 = 1,
  kUint16 = 2,
  kInt16 = 3,
  kUint32 = 4,
  kInt32 = 5,
  kFloat32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kUint64 = 10,
  kInt64 = 11,
  kFloat64 = 12,
};

// Limits of the reader. Real files stay one order of magnitude or more below each.
struct GgufLimits {
  static constexpr uint64_t kTensors = 1 << 20;
  static constexpr uint64_t kKeys = 1 << 16;
  static constexpr uint64_t kKeyBytes = 1024;
  static constexpr uint64_t kNameBytes = 63;
  static constexpr uint64_t kStringBytes = 64 << 20;
  static constexpr uint64_t kArrayElements = 1 << 24;  // of one file, all arrays together
  static constexpr uint64_t kMinAlignment = 8;
  static constexpr uint64_t kMaxAlignment = 1 << 16;
};

// One parsed file. tensors[i].data points into the bytes that were parsed.
struct GgufFile {
  uint32_t version = 0;
  uint64_t alignment = 32;
  uint64_t data_begin = 0;  // file offset of the data section
  std::vector<std::pair<std::string, GgufValue>> metadata;
  std::vector<RawTensor> tensors;  // in the order of the tensor infos
};

// Parses a whole file that lies in `bytes`, and checks every tensor's range: aligned, inside the file, no
// overlap, no hole beyond padding. `file_name` is for errors, `file_index` goes into the tensors.
Result<GgufFile> ParseGguf(std::span<const std::byte> bytes, std::string_view file_name, uint32_t file_index);

// The name of a GGUF tensor type, also of those that cannot be read ("iq2_xxs"); empty where no such type
// exists.
std::string_view GgufTypeName(uint32_t gguf_id);

// Where a file stands in a split set, from its name PREFIX-00002-of-00005.gguf; count 0: not such a name.
struct GgufSplitName {
  std::string prefix;
  uint32_t index = 0;  // 0-based
  uint32_t count = 0;
};
GgufSplitName ParseGgufSplitName(const std::string& path);
std::string FormatGgufSplitName(const std::string& prefix, uint32_t index, uint32_t count);

}  // namespace firebrick
