// The K types and the two with a table of values. Each group gets the scale that its extremes ask for; the
// scales are rounded to the block's few bits; codes are then the nearest to what will be decoded.
#include <algorithm>
#include <array>

#include "weights/block_decode.h"
#include "weights/block_encode.h"

namespace firebrick::block_encode {
namespace {

int Nearest(float value, int low, int high) {
  return std::clamp(static_cast<int>(std::nearbyint(value)), low, high);
}

// value = scale * code - min, codes 0 to max_code, for Groups groups in a block of 256. Scales and mins are
// multiples (0 to max_multiple) of d and dmin.
template <int Groups>
struct RangedBlock {
  float d = 0;  // as F16 holds them
  float dmin = 0;
  std::array<uint8_t, Groups> scales{};
  std::array<uint8_t, Groups> mins{};
  std::array<uint8_t, 256> codes{};

  RangedBlock(const float* values, int max_code, int max_multiple) {
    constexpr int kGroup = 256 / Groups;
    float group_scales[Groups];
    float group_mins[Groups];
    for (int g = 0; g < Groups; ++g) {
      const Range range = RangeOf(values + g * kGroup, kGroup);
      group_mins[g] = -std::min(range.min, 0.0F);
      group_scales[g] = (std::max(range.max, 0.0F) + group_mins[g]) / static_cast<float>(max_code);
    }
    const auto multiple = static_cast<float>(max_multiple);
    d = F16ToF32(F32ToF16(*std::max_element(group_scales, group_scales + Groups) / multiple));
    dmin = F16ToF32(F32ToF16(*std::max_element(group_mins, group_mins + Groups) / multiple));
    for (int g = 0; g < Groups; ++g) {
      scales[g] = static_cast<uint8_t>(Nearest(group_scales[g] * Inverse(d), 0, max_multiple));
      mins[g] = static_cast<uint8_t>(Nearest(group_mins[g] * Inverse(dmin), 0, max_multiple));
      const float inverse = Inverse(d * static_cast<float>(scales[g]));
      const float offset = dmin * static_cast<float>(mins[g]);
      for (int j = g * kGroup; j < (g + 1) * kGroup; ++j) {
        codes[j] = static_cast<uint8_t>(Nearest((values[j] + offset) * inverse, 0, max_code));
      }
    }
  }
};

// value = scale * code, codes -half to half - 1 (stored plus half); scales are multiples of d, -max_multiple
// - 1 to max_multiple.
struct SignedBlock {
  float d = 0;
  std::array<int8_t, 16> scales{};
  std::array<uint8_t, 256> codes{};

  SignedBlock(const float* values, int half, int max_multiple) {
    float group_scales[16];
    float largest = 0;
    for (int g = 0; g < 16; ++g) {
      group_scales[g] = SignedPeak(values + g * 16, 16) / static_cast<float>(-half);
      largest = std::max(largest, std::fabs(group_scales[g]));
    }
    d = F16ToF32(F32ToF16(largest / static_cast<float>(max_multiple)));
    for (int g = 0; g < 16; ++g) {
      scales[g] = static_cast<int8_t>(Nearest(group_scales[g] * Inverse(d), -max_multiple - 1, max_multiple));
      const float inverse = Inverse(d * static_cast<float>(scales[g]));
      for (int j = g * 16; j < (g + 1) * 16; ++j) {
        codes[j] = static_cast<uint8_t>(Nearest(values[j] * inverse, -half, half - 1) + half);
      }
    }
  }
};

// The inverse of block_decode::UnpackScalesAndMins.
void PackScalesAndMins(const RangedBlock<8>& from, uint8_t* packed) {
  for (int j = 0; j < 4; ++j) {
    packed[j] = static_cast<uint8_t>(from.scales[j] | (from.scales[j + 4] >> 4) << 6);
    packed[j + 4] = static_cast<uint8_t>(from.mins[j] | (from.mins[j + 4] >> 4) << 6);
    packed[j + 8] = static_cast<uint8_t>((from.scales[j + 4] & 15) | (from.mins[j + 4] & 15) << 4);
  }
}

void JoinNibblesByPairs(const uint8_t* codes, uint8_t* packed) {
  for (int k = 0; k < 4; ++k) {
    for (int l = 0; l < 32; ++l) {
      packed[32 * k + l] =
          static_cast<uint8_t>((codes[64 * k + l] & 15) | (codes[64 * k + 32 + l] & 15) << 4);
    }
  }
}

// Four 2-bit codes a byte: byte 32h + l holds elements 128h + 32s + l at bits 2s.
void JoinPairs(const uint8_t* codes, uint8_t* packed) {
  for (int half = 0; half < 2; ++half) {
    for (int l = 0; l < 32; ++l) {
      int byte = 0;
      for (int s = 0; s < 4; ++s) byte |= (codes[128 * half + 32 * s + l] & 3) << (2 * s);
      packed[32 * half + l] = static_cast<uint8_t>(byte);
    }
  }
}

// Index of the table value nearest to `value` (the lower one of equals): the number of borders below it.
uint8_t NearestIq4(float value) {
  static constexpr auto kBorders = [] {
    std::array<float, 15> borders{};
    for (size_t i = 0; i < borders.size(); ++i) {
      borders[i] = 0.5F * static_cast<float>(block_decode::kCodesIq4[i] + block_decode::kCodesIq4[i + 1]);
    }
    return borders;
  }();
  int index = 0;
  for (const float border : kBorders) index += value > border ? 1 : 0;
  return static_cast<uint8_t>(index);
}

void EncodeIq4Codes(const float* values, float scale, uint8_t* packed) {
  const float inverse = Inverse(scale);
  uint8_t codes[32];
  for (int j = 0; j < 32; ++j) codes[j] = NearestIq4(values[j] * inverse);
  JoinNibbles16(codes, packed);
}

}  // namespace

void EncodeQ2_K(const float* values, uint8_t* block) {
  const RangedBlock<16> from(values, 3, 15);
  for (int g = 0; g < 16; ++g) block[g] = static_cast<uint8_t>(from.scales[g] | from.mins[g] << 4);
  JoinPairs(from.codes.data(), block + 16);
  StoreF16(from.d, block + 80);
  StoreF16(from.dmin, block + 82);
}

void EncodeQ3_K(const float* values, uint8_t* block) {
  const SignedBlock from(values, 4, 31);
  std::memset(block, 0, 32);
  for (int j = 0; j < 256; ++j) block[j % 32] |= static_cast<uint8_t>((from.codes[j] >> 2) << (j / 32));
  JoinPairs(from.codes.data(), block + 32);
  uint8_t* packed = block + 96;
  std::memset(packed, 0, 12);
  for (int g = 0; g < 16; ++g) {
    const int scale = from.scales[g] + 32;
    packed[g % 8] |= static_cast<uint8_t>((scale & 15) << (g < 8 ? 0 : 4));
    packed[8 + g % 4] |= static_cast<uint8_t>((scale >> 4) << (2 * (g / 4)));
  }
  StoreF16(from.d, block + 108);
}

void EncodeQ4_K(const float* values, uint8_t* block) {
  const RangedBlock<8> from(values, 15, 63);
  StoreF16(from.d, block);
  StoreF16(from.dmin, block + 2);
  PackScalesAndMins(from, block + 4);
  JoinNibblesByPairs(from.codes.data(), block + 16);
}

void EncodeQ5_K(const float* values, uint8_t* block) {
  const RangedBlock<8> from(values, 31, 63);
  StoreF16(from.d, block);
  StoreF16(from.dmin, block + 2);
  PackScalesAndMins(from, block + 4);
  std::memset(block + 16, 0, 32);
  for (int j = 0; j < 256; ++j) block[16 + j % 32] |= static_cast<uint8_t>((from.codes[j] >> 4) << (j / 32));
  JoinNibblesByPairs(from.codes.data(), block + 48);
}

void EncodeQ6_K(const float* values, uint8_t* block) {
  const SignedBlock from(values, 32, 127);
  for (int half = 0; half < 2; ++half) {
    const uint8_t* codes = from.codes.data() + 128 * half;
    for (int l = 0; l < 64; ++l) {
      block[64 * half + l] = static_cast<uint8_t>((codes[l] & 15) | (codes[64 + l] & 15) << 4);
    }
    for (int l = 0; l < 32; ++l) {
      int byte = 0;
      for (int s = 0; s < 4; ++s) byte |= (codes[32 * s + l] >> 4) << (2 * s);
      block[128 + 32 * half + l] = static_cast<uint8_t>(byte);
    }
  }
  std::memcpy(block + 192, from.scales.data(), 16);
  StoreF16(from.d, block + 208);
}

void EncodeIQ4_NL(const float* values, uint8_t* block) {
  const float d = F16ToF32(F32ToF16(SignedPeak(values, 32) / block_decode::kCodesIq4[0]));
  StoreF16(d, block);
  EncodeIq4Codes(values, d, block + 2);
}

void EncodeIQ4_XS(const float* values, uint8_t* block) {
  float scales[8];
  float largest = 0;
  for (int g = 0; g < 8; ++g) {
    scales[g] = SignedPeak(values + 32 * g, 32) / block_decode::kCodesIq4[0];
    largest = std::max(largest, std::fabs(scales[g]));
  }
  const float d = F16ToF32(F32ToF16(largest / 31));
  StoreF16(d, block);
  std::memset(block + 2, 0, 6);
  for (int g = 0; g < 8; ++g) {
    const int multiple = Nearest(scales[g] * Inverse(d), -32, 31);
    const int stored = multiple + 32;
    block[4 + g / 2] |= static_cast<uint8_t>((stored & 15) << (4 * (g % 2)));
    block[2 + g / 4] |= static_cast<uint8_t>((stored >> 4) << (2 * (g % 4)));
    EncodeIq4Codes(values + 32 * g, d * static_cast<float>(multiple), block + 8 + 16 * g);
  }
}

}  // namespace firebrick::block_encode
