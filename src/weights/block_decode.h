// One block of each grouped weight type, taken apart: codes, scales and mins of canonical form. Internal to
// weights/. Each decoder documents its block's layout; d, m and dmin are F16. Source of the layouts:
// ../shared/reference/models-and-formats.md section 3.9. Thread: any; pure functions.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "tensor/float_bits.h"

namespace firebrick::block_decode {

inline constexpr std::array<int8_t, 16> kCodes0To15 = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
inline constexpr std::array<int8_t, 16> kCodesMinus8To7 = {-8, -7, -6, -5, -4, -3, -2, -1,
                                                           0,  1,  2,  3,  4,  5,  6,  7};
inline constexpr std::array<int8_t, 16> kCodesIq4 = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                     1,    13,   25,  38,  53,  69,  89,  113};

template <typename T>
T Load(const uint8_t* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}
inline float LoadF16(const uint8_t* bytes) { return F16ToF32(Load<uint16_t>(bytes)); }

// 16 bytes as one value (a GCC and clang extension): GCC 12 unrolls loops of 16 bytes into scalar code.
using Bytes16 = uint8_t __attribute__((vector_size(16)));

// Nibbles of 16 bytes, each plus `bias`: element j is the low one of byte j, element j + 16 the high one.
inline void SplitNibbles16(const uint8_t* packed, int8_t* codes, uint8_t bias = 0) {
  const auto bytes = Load<Bytes16>(packed);
  const Bytes16 low = (bytes & 15) + bias;
  const Bytes16 high = (bytes >> 4) + bias;
  std::memcpy(codes, &low, 16);
  std::memcpy(codes + 16, &high, 16);
}

// Bit j of `bits` becomes bit 4 of codes[j].
inline void AddFifthBits(uint32_t bits, int8_t* codes) {
  for (uint32_t j = 0; j < 32; ++j) codes[j] = static_cast<int8_t>(codes[j] | ((bits >> j & 1) << 4));
}

// Traits common to the decoders: kElements of a block, kBytes of it, kGroup columns per scale, whether it has
// mins, whether scales (and mins) are F16 values, the table of codes where 16 values suffice.
template <int Elements, int Bytes, int Group, bool HasMin, bool F16Scales>
struct Layout {
  static constexpr int kElements = Elements;
  static constexpr int kBytes = Bytes;
  static constexpr int kGroup = Group;
  static constexpr bool kHasMin = HasMin;
  static constexpr bool kF16Scales = F16Scales;
  static constexpr const int8_t* kTable = nullptr;
};

// d, 32 int8: d * q.
struct Q8_0 : Layout<32, 34, 32, false, true> {
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    scales[0] = LoadF16(block);
    std::memcpy(codes, block + 2, 32);
  }
};

// d, 16 bytes of nibbles: d * (q - 8).
struct Q4_0 : Layout<32, 18, 32, false, true> {
  static constexpr const int8_t* kTable = kCodesMinus8To7.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    scales[0] = LoadF16(block);
    SplitNibbles16(block + 2, codes, static_cast<uint8_t>(-8));
  }
};

// d, m, 16 bytes of nibbles: d * q + m.
struct Q4_1 : Layout<32, 20, 32, true, true> {
  static constexpr const int8_t* kTable = kCodes0To15.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict mins) {
    scales[0] = LoadF16(block);
    mins[0] = LoadF16(block + 2);
    SplitNibbles16(block + 4, codes);
  }
};

// d, u32 of fifth bits, 16 bytes of nibbles: d * (q - 16).
struct Q5_0 : Layout<32, 22, 32, false, true> {
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    scales[0] = LoadF16(block);
    SplitNibbles16(block + 6, codes);
    AddFifthBits(Load<uint32_t>(block + 2), codes);
    for (int j = 0; j < 32; ++j) codes[j] = static_cast<int8_t>(codes[j] - 16);
  }
};

// d, m, u32 of fifth bits, 16 bytes of nibbles: d * q + m.
struct Q5_1 : Layout<32, 24, 32, true, true> {
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict mins) {
    scales[0] = LoadF16(block);
    mins[0] = LoadF16(block + 2);
    SplitNibbles16(block + 8, codes);
    AddFifthBits(Load<uint32_t>(block + 4), codes);
  }
};

// 16 bytes (low nibble scale, high nibble min of a group of 16), 64 bytes of 2-bit codes, d, dmin: d*sc*q -
// dmin*mn. Byte 32h + l holds elements 128h + 32s + l at bits 2s.
struct Q2_K : Layout<256, 84, 16, true, false> {
  static constexpr const int8_t* kTable = kCodes0To15.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict mins) {
    const float d = LoadF16(block + 80);
    const float dmin = LoadF16(block + 82);
    for (int g = 0; g < 16; ++g) {
      scales[g] = d * static_cast<float>(block[g] & 15);
      mins[g] = -(dmin * static_cast<float>(block[g] >> 4));
    }
    for (int half = 0; half < 2; ++half) {
      const uint8_t* packed = block + 16 + half * 32;
      for (int s = 0; s < 4; ++s) {
        int8_t* out = codes + half * 128 + s * 32;
        for (int l = 0; l < 32; ++l) out[l] = static_cast<int8_t>(packed[l] >> (2 * s) & 3);
      }
    }
  }
};

// 32 bytes of third bits (0 means minus 4), 64 bytes of 2-bit codes as in Q2_K, 12 bytes of 6-bit scales, d:
// d * (sc - 32) * (q - 4). Scale g: low nibble in byte g % 8 (high half for g >= 8), top two bits in byte 8 +
// g % 4 at bits 2 * (g / 4). Third bit of element 32k + l: bit k of byte l.
struct Q3_K : Layout<256, 110, 16, false, false> {
  static constexpr const int8_t* kTable = kCodesMinus8To7.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    const uint8_t* high = block;
    const uint8_t* packed_scales = block + 96;
    const float d = LoadF16(block + 108);
    for (int g = 0; g < 16; ++g) {
      const int low = packed_scales[g % 8] >> (g < 8 ? 0 : 4) & 15;
      const int top = packed_scales[8 + g % 4] >> (2 * (g / 4)) & 3;
      scales[g] = d * static_cast<float>((low | top << 4) - 32);
    }
    for (int k = 0; k < 8; ++k) {
      const uint8_t* packed = block + 32 + (k / 4) * 32;
      for (int l = 0; l < 32; ++l) {
        const int q = (packed[l] >> (2 * (k % 4)) & 3) | (high[l] >> k & 1) << 2;
        codes[32 * k + l] = static_cast<int8_t>(q - 4);
      }
    }
  }
};

// The 12 bytes of Q4_K and Q5_K: eight 6-bit scales and eight 6-bit mins.
inline void UnpackScalesAndMins(const uint8_t* block, const uint8_t* packed, float* scales, float* mins) {
  const float d = LoadF16(block);
  const float dmin = LoadF16(block + 2);
  for (int j = 0; j < 4; ++j) {
    scales[j] = d * static_cast<float>(packed[j] & 63);
    mins[j] = -(dmin * static_cast<float>(packed[j + 4] & 63));
    scales[j + 4] = d * static_cast<float>((packed[j + 8] & 15) | (packed[j] >> 6) << 4);
    mins[j + 4] = -(dmin * static_cast<float>(packed[j + 8] >> 4 | (packed[j + 4] >> 6) << 4));
  }
}

// Sub-blocks 2k and 2k + 1 of 32 elements are the low and high nibbles of bytes 32k to 32k + 31.
inline void SplitNibblesByPairs(const uint8_t* __restrict packed, int8_t* __restrict codes) {
  for (int k = 0; k < 4; ++k) {
    for (int l = 0; l < 32; ++l) codes[64 * k + l] = static_cast<int8_t>(packed[32 * k + l] & 15);
    for (int l = 0; l < 32; ++l) codes[64 * k + 32 + l] = static_cast<int8_t>(packed[32 * k + l] >> 4);
  }
}

// d, dmin, 12 bytes of scales and mins, 128 bytes of nibbles: d*sc*q - dmin*mn.
struct Q4_K : Layout<256, 144, 32, true, false> {
  static constexpr const int8_t* kTable = kCodes0To15.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict mins) {
    UnpackScalesAndMins(block, block + 4, scales, mins);
    SplitNibblesByPairs(block + 16, codes);
  }
};

// As Q4_K, with 32 bytes of fifth bits before the nibbles: bit k of byte l is of sub-block k, element l.
struct Q5_K : Layout<256, 176, 32, true, false> {
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict mins) {
    UnpackScalesAndMins(block, block + 4, scales, mins);
    SplitNibblesByPairs(block + 48, codes);
    const uint8_t* high = block + 16;
    for (int k = 0; k < 8; ++k) {
      int8_t* out = codes + 32 * k;
      for (int l = 0; l < 32; ++l) out[l] = static_cast<int8_t>(out[l] | (high[l] >> k & 1) << 4);
    }
  }
};

// 128 bytes of low nibbles, 64 bytes of high pairs, 16 int8 scales, d: d * sc * (q - 32). Half h of 128
// elements: elements l, 32 + l take the low nibbles of bytes 64h + l, 64h + 32 + l; 64 + l, 96 + l their high
// nibbles; the high pair of element 32s + l lies at bits 2s of byte 32h + l.
struct Q6_K : Layout<256, 210, 16, false, false> {
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    const float d = LoadF16(block + 208);
    for (int g = 0; g < 16; ++g) scales[g] = d * static_cast<float>(static_cast<int8_t>(block[192 + g]));
    for (int half = 0; half < 2; ++half) {
      const uint8_t* low = block + 64 * half;
      const uint8_t* high = block + 128 + 32 * half;
      for (int s = 0; s < 4; ++s) {
        int8_t* out = codes + 128 * half + 32 * s;
        const uint8_t* nibbles = low + 32 * (s % 2);
        for (int l = 0; l < 32; ++l) {
          const int q = (nibbles[l] >> (s < 2 ? 0 : 4) & 15) | (high[l] >> (2 * s) & 3) << 4;
          out[l] = static_cast<int8_t>(q - 32);
        }
      }
    }
  }
};

// d, 16 bytes of nibbles into a table of 16 values: d * table[q].
struct IQ4_NL : Layout<32, 18, 32, false, true> {
  static constexpr const int8_t* kTable = kCodesIq4.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    scales[0] = LoadF16(block);
    SplitNibbles16(block + 2, codes);
    for (int j = 0; j < 32; ++j) codes[j] = kCodesIq4[static_cast<size_t>(codes[j])];
  }
};

// d, u16 of high scale pairs, 4 bytes of low scale nibbles, 8 runs of 16 bytes of nibbles: d * (sc - 32) *
// table[q].
struct IQ4_XS : Layout<256, 136, 32, false, false> {
  static constexpr const int8_t* kTable = kCodesIq4.data();
  static void Decode(const uint8_t* __restrict block, int8_t* __restrict codes, float* __restrict scales,
                     float* __restrict /*mins*/) {
    const float d = LoadF16(block);
    const auto high = Load<uint16_t>(block + 2);
    for (int g = 0; g < 8; ++g) {
      const int scale = (block[4 + g / 2] >> (4 * (g % 2)) & 15) | (high >> (2 * g) & 3) << 4;
      scales[g] = d * static_cast<float>(scale - 32);
      SplitNibbles16(block + 8 + 16 * g, codes + 32 * g);
    }
    for (int j = 0; j < 256; ++j) codes[j] = kCodesIq4[static_cast<size_t>(codes[j])];
  }
};

}  // namespace firebrick::block_decode
