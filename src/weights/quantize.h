// FP32 values to the bytes of any weight type. For make-model and tests: the 32-blocks equal the Python
// package `gguf` byte for byte; K and IQ4 types use a plain method (min and max of each group, scales rounded
// to their bits, nearest codes), correct but without llama.cpp's search for better scales. Thread: any; no
// state.
#pragma once

#include <cstddef>
#include <cstdint>

#include "tensor/weight_type.h"

namespace firebrick {

// values: [num_rows][num_cols], finite; num_cols a multiple of the type's block. out: num_rows * num_cols /
// block_elements * block_bytes bytes.
void QuantizeRows(WeightType type, const float* values, int64_t num_cols, int64_t num_rows, std::byte* out);

// The type that takes the place of `type` where num_cols is no multiple of its block: for K types the nearest
// 32-block type (as llama.cpp does it: q2_k, q3_k, iq4_xs become iq4_nl; q4_k q5_0; q5_k q5_1; q6_k q8_0),
// and f16 where even 32 does not divide.
WeightType FallbackType(WeightType type, int64_t num_cols);

}  // namespace firebrick
