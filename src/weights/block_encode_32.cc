// The 32-blocks, in the arithmetic of the Python package `gguf`: FP32, scale by the first value of largest
// magnitude or by the range, truncation after adding a half.
#include <algorithm>

#include "weights/block_decode.h"
#include "weights/block_encode.h"

namespace firebrick::block_encode {
namespace {

// codes[j] = trunc(values[j] * inverse + offset), within [0, max_code].
void Round(const float* values, float subtract, float inverse, float offset, int max_code, uint8_t* codes) {
  for (int j = 0; j < 32; ++j) {
    const int code = static_cast<int>((values[j] - subtract) * inverse + offset);
    codes[j] = static_cast<uint8_t>(std::clamp(code, 0, max_code));
  }
}

void StoreFifthBits(const uint8_t* codes, uint8_t* bytes) {
  uint32_t bits = 0;
  for (int j = 0; j < 32; ++j) bits |= static_cast<uint32_t>(codes[j] >> 4) << j;
  std::memcpy(bytes, &bits, sizeof(bits));
}

// Codes around zero: the value of largest magnitude gets code 0, that is -half.
void EncodeSigned(const float* values, int half, uint8_t* block, uint8_t* codes) {
  const float d = SignedPeak(values, 32) / static_cast<float>(-half);
  StoreF16(d, block);
  Round(values, 0, Inverse(d), static_cast<float>(half) + 0.5F, 2 * half - 1, codes);
}

void EncodeRange(const float* values, int max_code, uint8_t* block, uint8_t* codes) {
  const Range range = RangeOf(values, 32);
  const float d = (range.max - range.min) / static_cast<float>(max_code);
  StoreF16(d, block);
  StoreF16(range.min, block + 2);
  Round(values, range.min, Inverse(d), 0.5F, max_code, codes);
}

}  // namespace

void EncodeQ8_0(const float* values, uint8_t* block) {
  float magnitude = 0;
  for (int j = 0; j < 32; ++j) magnitude = std::max(magnitude, std::fabs(values[j]));
  const float d = magnitude / 127;
  const float inverse = Inverse(d);
  StoreF16(d, block);
  for (int j = 0; j < 32; ++j) {
    const float scaled = std::fabs(values[j] * inverse);  // halves round away from zero
    const float whole = std::trunc(scaled);
    const int code = static_cast<int>(whole) + (scaled - whole >= 0.5F ? 1 : 0);
    block[2 + j] = static_cast<uint8_t>(values[j] < 0 ? -code : code);
  }
}

void EncodeQ4_0(const float* values, uint8_t* block) {
  uint8_t codes[32];
  EncodeSigned(values, 8, block, codes);
  JoinNibbles16(codes, block + 2);
}

void EncodeQ5_0(const float* values, uint8_t* block) {
  uint8_t codes[32];
  EncodeSigned(values, 16, block, codes);
  StoreFifthBits(codes, block + 2);
  JoinNibbles16(codes, block + 6);
}

void EncodeQ4_1(const float* values, uint8_t* block) {
  uint8_t codes[32];
  EncodeRange(values, 15, block, codes);
  JoinNibbles16(codes, block + 4);
}

void EncodeQ5_1(const float* values, uint8_t* block) {
  uint8_t codes[32];
  EncodeRange(values, 31, block, codes);
  StoreFifthBits(codes, block + 4);
  JoinNibbles16(codes, block + 8);
}

}  // namespace firebrick::block_encode
