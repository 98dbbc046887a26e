#include "tensor/weight_type.h"

#include <array>

namespace firebrick {
namespace {

struct Entry {
  WeightType type;
  WeightTypeInfo info;
};

constexpr std::array kTypes = {
    Entry{WeightType::kF32, {"f32", 0, 1, 4}},
    Entry{WeightType::kF16, {"f16", 1, 1, 2}},
    Entry{WeightType::kBF16, {"bf16", 30, 1, 2}},
    Entry{WeightType::kQ8_0, {"q8_0", 8, 32, 34}},
    Entry{WeightType::kQ4_0, {"q4_0", 2, 32, 18}},
    Entry{WeightType::kQ4_1, {"q4_1", 3, 32, 20}},
    Entry{WeightType::kQ5_0, {"q5_0", 6, 32, 22}},
    Entry{WeightType::kQ5_1, {"q5_1", 7, 32, 24}},
    Entry{WeightType::kQ2_K, {"q2_k", 10, 256, 84}},
    Entry{WeightType::kQ3_K, {"q3_k", 11, 256, 110}},
    Entry{WeightType::kQ4_K, {"q4_k", 12, 256, 144}},
    Entry{WeightType::kQ5_K, {"q5_k", 13, 256, 176}},
    Entry{WeightType::kQ6_K, {"q6_k", 14, 256, 210}},
    Entry{WeightType::kIQ4_NL, {"iq4_nl", 20, 32, 18}},
    Entry{WeightType::kIQ4_XS, {"iq4_xs", 23, 256, 136}},
};

}  // namespace

const WeightTypeInfo& InfoOf(WeightType type) { return kTypes[static_cast<size_t>(type)].info; }

std::optional<WeightType> FindWeightType(std::string_view name) {
  for (const Entry& entry : kTypes) {
    if (entry.info.name == name) return entry.type;
  }
  return std::nullopt;
}

std::optional<WeightType> FindWeightTypeByGgufId(uint32_t gguf_id) {
  for (const Entry& entry : kTypes) {
    if (entry.info.gguf_id == gguf_id) return entry.type;
  }
  return std::nullopt;
}

}  // namespace firebrick
