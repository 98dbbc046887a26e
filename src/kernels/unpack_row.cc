#include <bit>
#include <cstring>

#include "kernels/packed_linear.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

float ReadScale(const std::byte* values, int64_t lane, bool f16) {
  if (!f16) {
    float value;
    std::memcpy(&value, values + lane * 4, 4);
    return value;
  }
  uint16_t bits;
  std::memcpy(&bits, values + lane * 2, 2);
  return F16ToF32(bits);
}

}  // namespace

void PackedLinear::UnpackRow(int64_t output, float* out) const {
  CHECK(output >= 0 && output < num_outputs_);
  const std::byte* bytes = panel(output / kPanelOutputs);
  const int64_t lane = output % kPanelOutputs;
  switch (packing_) {
    case Packing::kF32:
      for (int64_t k = 0; k < num_cols_; ++k) {
        out[k] = reinterpret_cast<const float*>(bytes)[k * kPanelOutputs + lane];
      }
      return;
    case Packing::kBF16:
      for (int64_t k = 0; k < num_cols_; ++k) {
        const int64_t at = k / 2 * kPanelOutputs * 2 + lane * 2 + k % 2;
        out[k] = Bf16ToF32(reinterpret_cast<const uint16_t*>(bytes)[at]);
      }
      return;
    case Packing::kF16:
      for (int64_t k = 0; k < num_cols_; ++k) {
        out[k] = F16ToF32(reinterpret_cast<const uint16_t*>(bytes)[k * kPanelOutputs + lane]);
      }
      return;
    case Packing::kCodes8:
    case Packing::kCodes4:
      break;
  }
  const int64_t group = format_.group_size;
  for (int64_t k = 0; k < num_cols_; ++k) {
    const std::byte* record = bytes + k / group * record_bytes_;
    const int64_t at = k % group;
    int32_t code;
    if (packing_ == Packing::kCodes8) {
      code = static_cast<int8_t>(record[at * kPanelOutputs + lane]);
    } else {
      const auto pair = static_cast<uint8_t>(record[at / 2 * kPanelOutputs + lane]);
      code = format_.code_table[at % 2 == 0 ? pair & 15 : pair >> 4];
    }
    const float scaled =
        ReadScale(record + scales_offset_, lane, format_.f16_scales) * static_cast<float>(code);
    out[k] = format_.has_min ? scaled + ReadScale(record + mins_offset_, lane, format_.f16_scales) : scaled;
  }
}

}  // namespace firebrick
