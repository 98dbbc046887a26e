// WeightType: how the bytes of a weight are coded in a file. Value types; thread: any.
// Source: ../shared/reference/models-and-formats.md section 3.9; ids are those of GGUF.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace firebrick {

enum class WeightType : uint8_t {
  kF32,
  kF16,
  kBF16,
  kQ8_0,
  kQ4_0,
  kQ4_1,
  kQ5_0,
  kQ5_1,
  kQ2_K,
  kQ3_K,
  kQ4_K,
  kQ5_K,
  kQ6_K,
  kIQ4_NL,
  kIQ4_XS,
};

struct WeightTypeInfo {
  std::string_view name;    // lower case, as flags spell it: "q4_0", "bf16"
  uint32_t gguf_id;         // type id in a GGUF tensor info
  uint32_t block_elements;  // elements coded together along the fastest axis: 1, 32 or 256
  uint32_t block_bytes;     // bytes of such a block
};

const WeightTypeInfo& InfoOf(WeightType type);
std::optional<WeightType> FindWeightType(std::string_view name);
std::optional<WeightType> FindWeightTypeByGgufId(uint32_t gguf_id);

}  // namespace firebrick
