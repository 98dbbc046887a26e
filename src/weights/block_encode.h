// Encoders of one block for each grouped weight type; the layouts stand in block_decode.h. Internal to
// weights/. `values` holds the block's 32 or 256 elements, `block` its bytes. Thread: any; pure functions.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "tensor/float_bits.h"

namespace firebrick::block_encode {

void EncodeQ8_0(const float* values, uint8_t* block);
void EncodeQ4_0(const float* values, uint8_t* block);
void EncodeQ4_1(const float* values, uint8_t* block);
void EncodeQ5_0(const float* values, uint8_t* block);
void EncodeQ5_1(const float* values, uint8_t* block);
void EncodeQ2_K(const float* values, uint8_t* block);
void EncodeQ3_K(const float* values, uint8_t* block);
void EncodeQ4_K(const float* values, uint8_t* block);
void EncodeQ5_K(const float* values, uint8_t* block);
void EncodeQ6_K(const float* values, uint8_t* block);
void EncodeIQ4_NL(const float* values, uint8_t* block);
void EncodeIQ4_XS(const float* values, uint8_t* block);

// The value of largest magnitude with its sign (the first of equals), and the range.
inline float SignedPeak(const float* values, int count) {
  float magnitude = 0;
  for (int j = 0; j < count; ++j) magnitude = std::max(magnitude, std::fabs(values[j]));
  for (int j = 0; j < count; ++j) {
    if (std::fabs(values[j]) == magnitude) return values[j];
  }
  return 0;
}
struct Range {
  float min;
  float max;
};
inline Range RangeOf(const float* values, int count) {
  Range range{values[0], values[0]};
  for (int j = 1; j < count; ++j) {
    range.min = std::min(range.min, values[j]);
    range.max = std::max(range.max, values[j]);
  }
  return range;
}

// 1 / d, or 0 where d is zero or so small that its inverse is infinite.
inline float Inverse(float d) {
  const float inverse = 1.0F / d;
  return d == 0 || std::isinf(inverse) ? 0.0F : inverse;
}

inline void StoreF16(float value, uint8_t* bytes) {
  const uint16_t bits = F32ToF16(value);
  std::memcpy(bytes, &bits, sizeof(bits));
}

// Low nibbles from codes[0..15], high nibbles from codes[16..31].
inline void JoinNibbles16(const uint8_t* codes, uint8_t* packed) {
  for (int j = 0; j < 16; ++j) packed[j] = static_cast<uint8_t>((codes[j] & 15) | (codes[j + 16] & 15) << 4);
}

}  // namespace firebrick::block_encode
