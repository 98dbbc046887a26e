#include "weights/expand.h"

#include <cstring>

#include "tensor/float_bits.h"
#include "weights/block_decode.h"

namespace firebrick {
namespace {

// Calls visit.template operator()<Decoder>() with the decoder of a grouped type; false for the plain types.
template <typename Visitor>
bool VisitGrouped(WeightType type, Visitor&& visit) {
  namespace bd = block_decode;
  switch (type) {
    case WeightType::kF32:
    case WeightType::kF16:
    case WeightType::kBF16:
      return false;
    case WeightType::kQ8_0:
      visit.template operator()<bd::Q8_0>();
      return true;
    case WeightType::kQ4_0:
      visit.template operator()<bd::Q4_0>();
      return true;
    case WeightType::kQ4_1:
      visit.template operator()<bd::Q4_1>();
      return true;
    case WeightType::kQ5_0:
      visit.template operator()<bd::Q5_0>();
      return true;
    case WeightType::kQ5_1:
      visit.template operator()<bd::Q5_1>();
      return true;
    case WeightType::kQ2_K:
      visit.template operator()<bd::Q2_K>();
      return true;
    case WeightType::kQ3_K:
      visit.template operator()<bd::Q3_K>();
      return true;
    case WeightType::kQ4_K:
      visit.template operator()<bd::Q4_K>();
      return true;
    case WeightType::kQ5_K:
      visit.template operator()<bd::Q5_K>();
      return true;
    case WeightType::kQ6_K:
      visit.template operator()<bd::Q6_K>();
      return true;
    case WeightType::kIQ4_NL:
      visit.template operator()<bd::IQ4_NL>();
      return true;
    case WeightType::kIQ4_XS:
      visit.template operator()<bd::IQ4_XS>();
      return true;
  }
  return false;
}

template <typename Decoder>
void ExpandGrouped(const uint8_t* bytes, int64_t num_elements, CanonicalRows* out) {
  constexpr int kGroups = Decoder::kElements / Decoder::kGroup;
  const int64_t num_blocks = num_elements / Decoder::kElements;
  out->codes.resize(static_cast<size_t>(num_elements));
  out->scales.resize(static_cast<size_t>(num_blocks * kGroups));
  if (Decoder::kHasMin) out->mins.resize(static_cast<size_t>(num_blocks * kGroups));
  float no_mins[1];
  for (int64_t b = 0; b < num_blocks; ++b) {
    Decoder::Decode(bytes + b * Decoder::kBytes, out->codes.data() + b * Decoder::kElements,
                    out->scales.data() + b * kGroups,
                    Decoder::kHasMin ? out->mins.data() + b * kGroups : no_mins);
  }
}

// One multiplication, one addition, each rounded: the order in which the canonical form is defined.
template <typename Decoder>
void DequantizeGrouped(const uint8_t* bytes, int64_t num_elements, float* out) {
  constexpr int kGroups = Decoder::kElements / Decoder::kGroup;
  int8_t codes[Decoder::kElements];
  float scales[kGroups];
  float mins[kGroups] = {};
  for (int64_t b = 0; b < num_elements / Decoder::kElements; ++b) {
    Decoder::Decode(bytes + b * Decoder::kBytes, codes, scales, mins);
    float* values = out + b * Decoder::kElements;
    for (int g = 0; g < kGroups; ++g) {
      for (int j = g * Decoder::kGroup; j < (g + 1) * Decoder::kGroup; ++j) {
        values[j] = scales[g] * static_cast<float>(codes[j]);
        if (Decoder::kHasMin) values[j] = values[j] + mins[g];
      }
    }
  }
}

void ExpandPlain(WeightType type, const uint8_t* bytes, int64_t num_elements, CanonicalRows* out) {
  const auto count = static_cast<size_t>(num_elements);
  if (type == WeightType::kF32) {
    out->f32.resize(count);
    std::memcpy(out->f32.data(), bytes, count * 4);
  } else {
    out->half.resize(count);
    std::memcpy(out->half.data(), bytes, count * 2);
  }
}

void DequantizePlain(WeightType type, const uint8_t* bytes, int64_t num_elements, float* out) {
  if (type == WeightType::kF32) {
    std::memcpy(out, bytes, static_cast<size_t>(num_elements) * 4);
    return;
  }
  for (int64_t i = 0; i < num_elements; ++i) {
    const auto bits = block_decode::Load<uint16_t>(bytes + 2 * i);
    out[i] = type == WeightType::kF16 ? F16ToF32(bits) : Bf16ToF32(bits);
  }
}

const uint8_t* RowAt(WeightType type, const std::byte* data, int64_t num_cols, int64_t row) {
  const WeightTypeInfo& info = InfoOf(type);
  DCHECK(num_cols % info.block_elements == 0);
  return reinterpret_cast<const uint8_t*>(data) + row * (num_cols / info.block_elements * info.block_bytes);
}

}  // namespace

CanonicalFormat CanonicalFormatOf(WeightType type) {
  if (type == WeightType::kF32) return {.form = CanonicalForm::kF32};
  if (type == WeightType::kF16) return {.form = CanonicalForm::kF16};
  if (type == WeightType::kBF16) return {.form = CanonicalForm::kBF16};
  CanonicalFormat format{.form = CanonicalForm::kGrouped};
  VisitGrouped(type, [&format]<typename Decoder>() {
    format.group_size = Decoder::kGroup;
    format.has_min = Decoder::kHasMin;
    format.code_bits = Decoder::kTable != nullptr ? 4 : 8;
    format.f16_scales = Decoder::kF16Scales;
    format.code_table = Decoder::kTable;
  });
  return format;
}

void ExpandRows(WeightType type, const std::byte* data, int64_t num_cols, int64_t row_begin, int64_t num_rows,
                CanonicalRows* out) {
  const uint8_t* bytes = RowAt(type, data, num_cols, row_begin);
  const int64_t num_elements = num_rows * num_cols;
  out->format = CanonicalFormatOf(type);
  out->num_rows = num_rows;
  out->num_cols = num_cols;
  const bool grouped =
      VisitGrouped(type, [&]<typename Decoder>() { ExpandGrouped<Decoder>(bytes, num_elements, out); });
  if (!grouped) ExpandPlain(type, bytes, num_elements, out);
}

void DequantizeRows(WeightType type, const std::byte* data, int64_t num_cols, int64_t row_begin,
                    int64_t num_rows, float* out) {
  const uint8_t* bytes = RowAt(type, data, num_cols, row_begin);
  const int64_t num_elements = num_rows * num_cols;
  const bool grouped =
      VisitGrouped(type, [&]<typename Decoder>() { DequantizeGrouped<Decoder>(bytes, num_elements, out); });
  if (!grouped) DequantizePlain(type, bytes, num_elements, out);
}

}  // namespace firebrick
