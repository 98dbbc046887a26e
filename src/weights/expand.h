// Weight bytes to values: the one place that knows how each file type codes a number. Thread: any; no state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "tensor/canonical.h"
#include "tensor/weight_type.h"

namespace firebrick {

// The canonical format of a weight type. Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, Q4_K, Q5_K, IQ4_NL, IQ4_XS: groups of
// 32; Q2_K, Q3_K, Q6_K: groups of 16.
CanonicalFormat CanonicalFormatOf(WeightType type);

// Rows [row_begin, row_begin + num_rows) of a matrix with num_cols columns whose bytes start at `data`,
// brought to canonical form. num_cols is a multiple of the type's block; the caller has checked the bytes'
// length.
void ExpandRows(WeightType type, const std::byte* data, int64_t num_cols, int64_t row_begin, int64_t num_rows,
                CanonicalRows* out);

// The same rows as FP32 values, exactly as the Python package `gguf` dequantises them. out:
// [num_rows][num_cols].
void DequantizeRows(WeightType type, const std::byte* data, int64_t num_cols, int64_t row_begin,
                    int64_t num_rows, float* out);

}  // namespace firebrick
