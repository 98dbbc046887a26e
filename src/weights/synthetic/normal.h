// Normally distributed values by position: value i of a stream is a pure function of (key, i), so any number
// of threads in any order write the same model. Thread: any.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace firebrick {

// The stream of one tensor of a model made with `seed`.
uint64_t NormalStreamKey(uint64_t seed, std::string_view tensor_name);

// out[j] = value begin + j of the stream, mean 0, deviation `stddev`. 32 mixed bits of (key, position) choose
// a place in a table of 4096 quantiles, with straight lines between: a normal distribution up to 3.5
// deviations (a straight tail to 4.0 beyond, 0.05 % of the values), in about 2 ns a value.
void FillNormal(uint64_t key, uint64_t begin, float stddev, std::span<float> out);

}  // namespace firebrick
