// The canonical form of a weight matrix: what a file format is normalised to, and what a kernel packs from.
// It is produced a few rows at a time, so that a load never holds a second copy of the weights. Thread: a
// CanonicalRows belongs to the thread that fills it.
#pragma once

#include <cstdint>
#include <vector>

namespace firebrick {

enum class CanonicalForm : uint8_t {
  kF32,      // values in FP32
  kBF16,     // values in BF16 (F16 files are kF16, not rounded here)
  kF16,      // values in F16
  kGrouped,  // value = scale[g] * code + min[g], g = column / group_size; codes are integers in [-128, 127]
};

struct CanonicalFormat {
  CanonicalForm form = CanonicalForm::kF32;
  uint8_t group_size = 0;              // kGrouped: 16 or 32 columns
  bool has_min = false;                // kGrouped: whether min[] is there
  uint8_t code_bits = 0;               // kGrouped: 4 where each code is one of 16 values (code_table), else 8
  bool f16_scales = false;             // kGrouped: every scale and min is exactly representable in F16
  const int8_t* code_table = nullptr;  // code_bits 4: 16 values, static storage; code = code_table[nibble]
  friend bool operator==(const CanonicalFormat&, const CanonicalFormat&) = default;
};

// `num_rows` consecutive rows (output features) of a matrix [rows, columns], row-major. Only the members of
// the form are filled; vectors keep their capacity from use to use.
struct CanonicalRows {
  CanonicalFormat format;
  int64_t num_rows = 0;
  int64_t num_cols = 0;
  std::vector<float> f32;      // [num_rows][num_cols]
  std::vector<uint16_t> half;  // [num_rows][num_cols], BF16 or F16 bits
  std::vector<int8_t> codes;   // [num_rows][num_cols], the code's value (not the nibble)
  std::vector<float> scales;   // [num_rows][num_cols / group_size]
  std::vector<float> mins;     // the same shape, where has_min
};

}  // namespace firebrick
