#include "weights/quantize.h"

#include <cstring>

#include "base/status.h"
#include "tensor/float_bits.h"
#include "weights/block_encode.h"

namespace firebrick {
namespace {

using Encoder = void (*)(const float* values, uint8_t* block);

Encoder EncoderOf(WeightType type) {
  namespace be = block_encode;
  switch (type) {
    case WeightType::kF32:
    case WeightType::kF16:
    case WeightType::kBF16:
      return nullptr;
    case WeightType::kQ8_0:
      return be::EncodeQ8_0;
    case WeightType::kQ4_0:
      return be::EncodeQ4_0;
    case WeightType::kQ4_1:
      return be::EncodeQ4_1;
    case WeightType::kQ5_0:
      return be::EncodeQ5_0;
    case WeightType::kQ5_1:
      return be::EncodeQ5_1;
    case WeightType::kQ2_K:
      return be::EncodeQ2_K;
    case WeightType::kQ3_K:
      return be::EncodeQ3_K;
    case WeightType::kQ4_K:
      return be::EncodeQ4_K;
    case WeightType::kQ5_K:
      return be::EncodeQ5_K;
    case WeightType::kQ6_K:
      return be::EncodeQ6_K;
    case WeightType::kIQ4_NL:
      return be::EncodeIQ4_NL;
    case WeightType::kIQ4_XS:
      return be::EncodeIQ4_XS;
  }
  return nullptr;
}

}  // namespace

void QuantizeRows(WeightType type, const float* values, int64_t num_cols, int64_t num_rows, std::byte* out) {
  const int64_t num_elements = num_rows * num_cols;
  const WeightTypeInfo& info = InfoOf(type);
  DCHECK(num_cols % info.block_elements == 0);
  auto* bytes = reinterpret_cast<uint8_t*>(out);
  if (const Encoder encode = EncoderOf(type)) {
    for (int64_t b = 0; b < num_elements / info.block_elements; ++b) {
      encode(values + b * info.block_elements, bytes + b * info.block_bytes);
    }
    return;
  }
  if (type == WeightType::kF32) {
    std::memcpy(bytes, values, static_cast<size_t>(num_elements) * sizeof(float));
    return;
  }
  for (int64_t i = 0; i < num_elements; ++i) {
    const uint16_t bits = type == WeightType::kF16 ? F32ToF16(values[i]) : F32ToBf16(values[i]);
    std::memcpy(bytes + 2 * i, &bits, sizeof(bits));
  }
}

WeightType FallbackType(WeightType type, int64_t num_cols) {
  if (num_cols % InfoOf(type).block_elements == 0) return type;
  WeightType smaller = WeightType::kF16;
  switch (type) {
    case WeightType::kQ2_K:
    case WeightType::kQ3_K:
    case WeightType::kIQ4_XS:
      smaller = WeightType::kIQ4_NL;
      break;
    case WeightType::kQ4_K:
      smaller = WeightType::kQ5_0;
      break;
    case WeightType::kQ5_K:
      smaller = WeightType::kQ5_1;
      break;
    case WeightType::kQ6_K:
      smaller = WeightType::kQ8_0;
      break;
    default:
      break;
  }
  return num_cols % InfoOf(smaller).block_elements == 0 ? smaller : WeightType::kF16;
}

}  // namespace firebrick
