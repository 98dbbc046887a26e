// Rope frequencies: what rope scaling makes of them. Thread: pure functions.
#pragma once

#include <vector>

#include "model/model_config.h"

namespace firebrick {

// [rotary_dim / 2]: the angle of pair i at position p is p * frequency[i]. Computed in double and rounded
// once. Source: ../shared/reference/models-and-formats.md section 1.1.
std::vector<float> RopeFrequencies(const RopeConfig& config);

}  // namespace firebrick
