#include "kernels/packed_linear.h"

#include <array>
#include <bit>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "kernels/panel_transpose.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

constexpr int64_t kSpan = kPanelOutputs;  // values that lie together for one column: one per output

// Whether a panel is whole and its columns come in blocks of the vector code: all but the last panel of a
// matrix.
bool FitsVectors(const CanonicalRows& rows, int64_t block) {
  return rows.num_rows == kSpan && rows.num_cols % block == 0;
}

void PackF32Panel(const CanonicalRows& rows, float* out) {
  if (FitsVectors(rows, 8)) {
    panel::TransposeWords(reinterpret_cast<const uint32_t*>(rows.f32.data()), rows.num_cols, rows.num_cols,
                          reinterpret_cast<uint32_t*>(out));
    return;
  }
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      out[k * kSpan + r] = rows.f32[static_cast<size_t>(r * rows.num_cols + k)];
    }
  }
}

// Of 16 rows, num_cols a multiple of 16. A pair of columns is one word.
void PackWholeBf16(const void* rows, int64_t num_cols, uint16_t* out) {
  panel::TransposeWords(static_cast<const uint32_t*>(rows), num_cols / 2, num_cols / 2,
                        reinterpret_cast<uint32_t*>(out));
}

void PackBf16Panel(const CanonicalRows& rows, uint16_t* out) {
  if (FitsVectors(rows, 16)) {
    PackWholeBf16(rows.half.data(), rows.num_cols, out);
    return;
  }
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    uint16_t* pair = out + (k / 2) * kSpan * 2 + k % 2;
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      pair[r * 2] = rows.half[static_cast<size_t>(r * rows.num_cols + k)];
    }
  }
}

// Of 16 rows, num_cols a multiple of 8. Returns what PackF16Panel does.
bool PackWholeF16(const void* rows, int64_t num_cols, uint16_t* out) {
  __m256i low_parts = _mm256_setzero_si256();
  for (int64_t k = 0; k < num_cols; k += 8) {
    panel::Transpose16x8Halves(static_cast<const uint16_t*>(rows) + k, num_cols, out + k * kSpan);
    for (int64_t i = 0; i < 8 * kSpan; i += 8) {
      const auto* bits = reinterpret_cast<const __m128i*>(out + k * kSpan + i);
      low_parts = _mm256_or_si256(low_parts, _mm256_castps_si256(_mm256_cvtph_ps(_mm_loadu_si128(bits))));
    }
  }
  return _mm256_testz_si256(low_parts, _mm256_set1_epi32(0xFFFF)) == 0;
}

// Returns whether a weight needs more than the upper 16 bits of its FP32 value.
bool PackF16Panel(const CanonicalRows& rows, uint16_t* out) {
  if (FitsVectors(rows, 8)) return PackWholeF16(rows.half.data(), rows.num_cols, out);
  uint32_t low_bits = 0;
  for (int64_t k = 0; k < rows.num_cols; ++k) {
    for (int64_t r = 0; r < rows.num_rows; ++r) {
      const uint16_t bits = rows.half[static_cast<size_t>(r * rows.num_cols + k)];
      out[k * kSpan + r] = bits;
      low_bits |= std::bit_cast<uint32_t>(F16ToF32(bits)) & 0xFFFF;
    }
  }
  return low_bits != 0;
}

// nibble[code + 128] of a table of 16 codes.
std::array<uint8_t, 256> InvertTable(const int8_t* table) {
  std::array<uint8_t, 256> nibbles{};
  for (uint8_t nibble = 0; nibble < 16; ++nibble) nibbles[static_cast<size_t>(table[nibble] + 128)] = nibble;
  return nibbles;
}

// One value per output of a group, [num_groups] apart in `values`, as F16 or F32.
void PackSpan(const float* values, int64_t num_rows, int64_t num_groups, bool f16, std::byte* out) {
  for (int64_t r = 0; r < num_rows; ++r) {
    const float value = values[r * num_groups];
    if (f16) {
      const uint16_t bits = F32ToF16(value);
      std::memcpy(out + r * 2, &bits, 2);
    } else {
      std::memcpy(out + r * 4, &value, 4);
    }
  }
}

// The value of code table[0] where the table counts up in ones, so that nibble = code - table[0].
std::optional<int8_t> FirstOfRun(const int8_t* table) {
  for (int i = 1; i < 16; ++i) {
    if (table[i] != table[0] + i) return std::nullopt;
  }
  return table[0];
}

// Codes of 16 rows, `group` columns of each: [group][16] bytes.
void PackCodes8(const int8_t* codes, int64_t num_cols, int64_t group, std::byte* out) {
  for (int64_t k = 0; k < group; k += 16) {
    __m128i tile[16];
    for (int64_t r = 0; r < 16; ++r) {
      tile[r] = _mm_loadu_si128(reinterpret_cast<const __m128i*>(codes + r * num_cols + k));
    }
    panel::TransposeBytes(tile);
    for (int64_t i = 0; i < 16; ++i) {
      _mm_storeu_si128(reinterpret_cast<__m128i*>(out + (k + i) * kSpan), tile[i]);
    }
  }
}

// Codes of 16 rows, 32 columns of each, as nibbles of `first` and up: pairs of columns 0..15 go to
// low[8][16], those of columns 16..31 to high[8][16].
void PackCodes4(const int8_t* codes, int64_t num_cols, int8_t first, std::byte* low, std::byte* high) {
  const __m128i base = _mm_set1_epi8(first);
  const __m128i weights = _mm_set1_epi16(0x1001);  // even column + 16 * odd column
  __m128i tile[16];
  for (int64_t r = 0; r < 16; ++r) {
    const auto* at = reinterpret_cast<const __m128i*>(codes + r * num_cols);
    const __m128i a = _mm_maddubs_epi16(_mm_sub_epi8(_mm_loadu_si128(at), base), weights);
    const __m128i b = _mm_maddubs_epi16(_mm_sub_epi8(_mm_loadu_si128(at + 1), base), weights);
    tile[r] = _mm_packus_epi16(a, b);
  }
  panel::TransposeBytes(tile);
  for (int64_t i = 0; i < 8; ++i) {
    _mm_storeu_si128(reinterpret_cast<__m128i*>(low + i * kSpan), tile[i]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(high + i * kSpan), tile[i + 8]);
  }
}

// PackSpan of eight groups of 16 rows: group g's values go to out + g * record_bytes.
void PackEightSpans(const float* values, int64_t num_groups, bool f16, int64_t record_bytes, std::byte* out) {
  alignas(32) std::array<float, 8 * kSpan> spans;
  panel::TransposeWords(reinterpret_cast<const uint32_t*>(values), num_groups, 8,
                        reinterpret_cast<uint32_t*>(spans.data()));
  for (int64_t g = 0; g < 8; ++g) {
    const float* span = spans.data() + g * kSpan;
    std::byte* at = out + g * record_bytes;
    if (!f16) {
      std::memcpy(at, span, kSpan * sizeof(float));
      continue;
    }
    for (int64_t r = 0; r < kSpan; r += 8) {
      const __m128i bits = _mm256_cvtps_ph(_mm256_load_ps(span + r), _MM_FROUND_TO_NEAREST_INT);
      _mm_storeu_si128(reinterpret_cast<__m128i*>(at + r * 2), bits);
    }
  }
}

}  // namespace

Packing PackingOf(const CanonicalFormat& format) {
  switch (format.form) {
    case CanonicalForm::kF32:
      return Packing::kF32;
    case CanonicalForm::kBF16:
      return Packing::kBF16;
    case CanonicalForm::kF16:
      return Packing::kF16;
    case CanonicalForm::kGrouped:
      return format.code_bits == 4 ? Packing::kCodes4 : Packing::kCodes8;
  }
  return Packing::kF32;
}

Result<PackedLinear> PackedLinear::Create(const CanonicalFormat& format, int64_t num_outputs,
                                          int64_t num_cols) {
  CHECK(num_outputs > 0 && num_cols > 0);
  PackedLinear linear;
  linear.format_ = format;
  linear.packing_ = PackingOf(format);
  linear.num_outputs_ = num_outputs;
  linear.num_cols_ = num_cols;
  linear.padded_cols_ = PadToBlock(num_cols);
  const int64_t values = linear.padded_cols_ * kSpan;
  if (format.form == CanonicalForm::kGrouped) {
    const int64_t group = format.group_size;
    CHECK(group == 16 || group == 32);
    CHECK(num_cols % group == 0);
    CHECK(format.code_bits == 8 || (format.code_bits == 4 && format.code_table != nullptr));
    const int64_t codes_bytes = group * kSpan * format.code_bits / 8;
    const int64_t span_bytes = kSpan * (format.f16_scales ? 2 : 4);
    linear.scales_offset_ = codes_bytes;
    linear.mins_offset_ = codes_bytes + span_bytes;
    linear.record_bytes_ = codes_bytes + span_bytes * (format.has_min ? 2 : 1);
    linear.panel_bytes_ = linear.padded_cols_ / group * linear.record_bytes_;
  } else {
    linear.panel_bytes_ = values * (format.form == CanonicalForm::kF32 ? 4 : 2);
  }
  const auto bytes = static_cast<size_t>(linear.panel_bytes_ * linear.num_panels());
  ASSIGN_OR_RETURN(linear.buffer_, AlignedBuffer::Allocate(MemoryAccount::kWeights, bytes));
  if (linear.packing_ == Packing::kF16) {
    const auto panels = static_cast<size_t>(linear.num_panels());
    ASSIGN_OR_RETURN(linear.low_parts_, AlignedBuffer::Allocate(MemoryAccount::kWeights, panels));
  }
  return linear;
}

void PackedLinear::PackPanel(int64_t panel, const CanonicalRows& rows) {
  CHECK(panel >= 0 && panel < num_panels());
  const int64_t left = num_outputs_ - panel * kPanelOutputs;
  CHECK(rows.num_rows == (left < kPanelOutputs ? left : kPanelOutputs));
  CHECK(rows.num_cols == num_cols_ && rows.format == format_);
  std::byte* out = buffer_.data() + panel * panel_bytes_;
  switch (packing_) {
    case Packing::kF32:
      PackF32Panel(rows, reinterpret_cast<float*>(out));
      break;
    case Packing::kBF16:
      PackBf16Panel(rows, reinterpret_cast<uint16_t*>(out));
      break;
    case Packing::kF16:
      low_parts_.data()[panel] = std::byte{PackF16Panel(rows, reinterpret_cast<uint16_t*>(out))};
      break;
    case Packing::kCodes8:
    case Packing::kCodes4:
      PackGroupedPanel(rows, out);
      break;
  }
}

bool PackedLinear::TryPackPanelFrom(int64_t panel, const std::byte* rows) {
  CHECK(panel >= 0 && panel < num_panels());
  if ((panel + 1) * kPanelOutputs > num_outputs_ || num_cols_ % 16 != 0) return false;
  auto* out = reinterpret_cast<uint16_t*>(buffer_.data() + panel * panel_bytes_);
  if (packing_ == Packing::kBF16) {
    PackWholeBf16(rows, num_cols_, out);
    return true;
  }
  if (packing_ != Packing::kF16) return false;
  low_parts_.data()[panel] = std::byte{PackWholeF16(rows, num_cols_, out)};
  return true;
}

// False where the panel is not whole or a table is no run of codes.
bool PackedLinear::TryPackWholeGrouped(const CanonicalRows& rows, std::byte* panel) const {
  const int64_t group = format_.group_size;
  const int64_t num_groups = num_cols_ / group;
  if (!FitsVectors(rows, 32)) return false;
  if (packing_ == Packing::kCodes8) {
    for (int64_t g = 0; g < num_groups; ++g) {
      PackCodes8(rows.codes.data() + g * group, num_cols_, group, panel + g * record_bytes_);
    }
  } else {
    const std::optional<int8_t> first = FirstOfRun(format_.code_table);
    if (!first) return false;
    for (int64_t k = 0; k < num_cols_; k += 32) {
      std::byte* low = panel + k / group * record_bytes_;
      std::byte* high = group == 32 ? low + 8 * kSpan : low + record_bytes_;
      PackCodes4(rows.codes.data() + k, num_cols_, *first, low, high);
    }
  }
  const auto pack_spans = [&](const std::vector<float>& values, int64_t offset) {
    int64_t g = 0;
    for (; g + 8 <= num_groups; g += 8) {
      PackEightSpans(values.data() + g, num_groups, format_.f16_scales, record_bytes_,
                     panel + g * record_bytes_ + offset);
    }
    for (; g < num_groups; ++g) {
      PackSpan(values.data() + g, kSpan, num_groups, format_.f16_scales, panel + g * record_bytes_ + offset);
    }
  };
  pack_spans(rows.scales, scales_offset_);
  if (format_.has_min) pack_spans(rows.mins, mins_offset_);
  return true;
}

void PackedLinear::PackGroupedPanel(const CanonicalRows& rows, std::byte* panel) const {
  if (TryPackWholeGrouped(rows, panel)) return;
  const int64_t group = format_.group_size;
  const int64_t num_groups = num_cols_ / group;
  std::array<uint8_t, 256> nibbles{};
  if (packing_ == Packing::kCodes4) nibbles = InvertTable(format_.code_table);
  for (int64_t g = 0; g < num_groups; ++g) {
    std::byte* record = panel + g * record_bytes_;
    for (int64_t k = 0; k < group; ++k) {
      const int8_t* codes = rows.codes.data() + g * group + k;
      if (packing_ == Packing::kCodes8) {
        for (int64_t r = 0; r < rows.num_rows; ++r) record[k * kSpan + r] = std::byte(codes[r * num_cols_]);
        continue;
      }
      std::byte* pair = record + (k / 2) * kSpan;
      for (int64_t r = 0; r < rows.num_rows; ++r) {
        const std::byte nibble{nibbles[static_cast<size_t>(codes[r * num_cols_] + 128)]};
        pair[r] = k % 2 == 0 ? nibble : pair[r] | nibble << 4;
      }
    }
    PackSpan(rows.scales.data() + g, rows.num_rows, num_groups, format_.f16_scales, record + scales_offset_);
    if (format_.has_min) {
      PackSpan(rows.mins.data() + g, rows.num_rows, num_groups, format_.f16_scales, record + mins_offset_);
    }
  }
}

ActivationNeeds PackedLinear::needs() const {
  ActivationNeeds needs;
  needs.exact = packing_ == Packing::kF32;
  needs.rounded = !needs.exact;
  needs.sums32 = format_.has_min && format_.group_size == 32;
  needs.sums16 = format_.has_min && format_.group_size == 16;
  return needs;
}

}  // namespace firebrick
