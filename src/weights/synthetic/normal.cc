#include "weights/synthetic/normal.h"

#include <array>
#include <cmath>

namespace firebrick {
namespace {

constexpr size_t kKnots = 4096;
constexpr double kTail = 4.0;

// The quantiles of i / 4096, by bisection of the distribution function.
std::array<float, kKnots + 1> MakeQuantiles() {
  std::array<float, kKnots + 1> quantiles{};
  quantiles[0] = static_cast<float>(-kTail);
  quantiles[kKnots] = static_cast<float>(kTail);
  for (size_t i = 1; i < kKnots; ++i) {
    const double wanted = static_cast<double>(i) / kKnots;
    double low = -8;
    double high = 8;
    for (int step = 0; step < 50; ++step) {
      const double middle = (low + high) / 2;
      (0.5 * std::erfc(-middle / std::sqrt(2.0)) < wanted ? low : high) = middle;
    }
    quantiles[i] = static_cast<float>((low + high) / 2);
  }
  return quantiles;
}

// Multiply and xor-shift rounds: every bit of the result depends on every bit of the input.
uint64_t Mix64(uint64_t x) {
  x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
  x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
  return x ^ x >> 32;
}
uint32_t Mix32(uint32_t x) {
  x = (x ^ x >> 16) * 0x7FEB352D;
  x = (x ^ x >> 15) * 0x846CA68B;
  return x ^ x >> 16;
}

}  // namespace

uint64_t NormalStreamKey(uint64_t seed, std::string_view tensor_name) {
  uint64_t key = Mix64(seed + 0x9E3779B97F4A7C15);
  for (const char c : tensor_name) key = Mix64(key ^ static_cast<uint8_t>(c));
  return key;
}

void FillNormal(uint64_t key, uint64_t begin, float stddev, std::span<float> out) {
  static const std::array<float, kKnots + 1> kQuantiles = MakeQuantiles();
  const auto low_key = static_cast<uint32_t>(key);
  const auto high_key = static_cast<uint32_t>(key >> 32);
  for (size_t j = 0; j < out.size(); ++j) {
    const uint64_t position = begin + j;
    const uint32_t high = high_key ^ static_cast<uint32_t>(position >> 32);
    const uint32_t bits = Mix32(Mix32(static_cast<uint32_t>(position) ^ low_key) ^ high);
    const uint32_t knot = bits >> 20;
    const float fraction = static_cast<float>(static_cast<int32_t>(bits & 0xFFFFF)) * 0x1p-20F;
    const float left = kQuantiles[knot];
    out[j] = stddev * (left + fraction * (kQuantiles[knot + 1] - left));
  }
}

}  // namespace firebrick
