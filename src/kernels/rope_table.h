// Cosines and sines of rotary embeddings, computed once per position with our own polynomials: the same bits
// on every machine. Thread: any.
#pragma once

#include <cstdint>

namespace firebrick {

// cos_out[i], sin_out[i] of the angle float(position) * inv_freq[i] (the product rounded to FP32, as the
// models were trained), times `magnitude` (yarn; 1 otherwise), for i < num_pairs. Error: below 0.51 ULP of
// FP32 for |angle| <= 2^24. position >= 0.
void FillRopeRow(int64_t position, const float* inv_freq, int64_t num_pairs, float magnitude, float* cos_out,
                 float* sin_out);

}  // namespace firebrick
