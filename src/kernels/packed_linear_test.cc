// The packed layout, byte for byte, against a packer written from its description in packed_linear.h.
#include "kernels/packed_linear.h"

#include <array>
#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tensor/float_bits.h"

namespace firebrick {
namespace {

constexpr std::array<int8_t, 16> kRun = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<int8_t, 16> kNoRun = {-127, -104, -83, -65, -49, -35, -22, -10,
                                           1,    13,   25,  38,  53,  69,  89,  113};

struct Case {
  const char* name;
  CanonicalFormat format;
  int64_t num_cols;
};

const std::vector<Case>& Cases() {
  static const std::vector<Case> kCases = {
      {"f32", {.form = CanonicalForm::kF32}, 64},
      {"f32_odd", {.form = CanonicalForm::kF32}, 37},
      {"bf16", {.form = CanonicalForm::kBF16}, 96},
      {"bf16_odd", {.form = CanonicalForm::kBF16}, 35},
      {"f16", {.form = CanonicalForm::kF16}, 72},
      {"q8_0", {CanonicalForm::kGrouped, 32, false, 8, true, nullptr}, 352},
      {"q5_1", {CanonicalForm::kGrouped, 32, true, 8, true, nullptr}, 64},
      {"q6_k", {CanonicalForm::kGrouped, 16, false, 8, false, nullptr}, 512},
      {"q4_0", {CanonicalForm::kGrouped, 32, false, 4, true, kRun.data()}, 352},
      {"q4_1", {CanonicalForm::kGrouped, 32, true, 4, true, kRun.data()}, 576},
      {"q4_k", {CanonicalForm::kGrouped, 32, true, 4, false, kRun.data()}, 256},
      {"q2_k", {CanonicalForm::kGrouped, 16, true, 4, false, kRun.data()}, 256},
      {"iq4_nl", {CanonicalForm::kGrouped, 32, false, 4, true, kNoRun.data()}, 64},
      {"half_block", {CanonicalForm::kGrouped, 16, true, 4, false, kRun.data()}, 48},
  };
  return kCases;
}

CanonicalRows RandomRows(const Case& c, int64_t num_rows, std::mt19937& random) {
  CanonicalRows rows;
  rows.format = c.format;
  rows.num_rows = num_rows;
  rows.num_cols = c.num_cols;
  const auto count = static_cast<size_t>(num_rows * c.num_cols);
  const auto half = [&random] {
    const auto bits = static_cast<uint16_t>(random());
    return (bits & 0x7C00) == 0x7C00 ? uint16_t{1}
                                     : bits;  // neither infinities nor NaN of F16; small ones stay
  };
  if (c.format.form == CanonicalForm::kF32) {
    for (size_t i = 0; i < count; ++i)
      rows.f32.push_back(std::bit_cast<float>(static_cast<uint32_t>(random())));
  } else if (c.format.form != CanonicalForm::kGrouped) {
    for (size_t i = 0; i < count; ++i) rows.half.push_back(half());
  } else {
    for (size_t i = 0; i < count; ++i) {
      rows.codes.push_back(c.format.code_bits == 4 ? c.format.code_table[random() % 16]
                                                   : static_cast<int8_t>(random()));
    }
    const auto scale = [&] { return c.format.f16_scales ? F16ToF32(half()) : F16ToF32(half()) * 1.3F; };
    for (size_t i = 0; i < count / c.format.group_size; ++i) {
      rows.scales.push_back(scale());
      if (c.format.has_min) rows.mins.push_back(scale());
    }
  }
  return rows;
}

template <typename T>
void Put(std::vector<std::byte>* out, int64_t at, T value) {
  std::memcpy(out->data() + at, &value, sizeof(T));
}

std::vector<std::byte> PackByDescription(const PackedLinear& linear, const CanonicalRows& rows) {
  std::vector<std::byte> out(static_cast<size_t>(linear.panel_bytes()));
  const CanonicalFormat& format = rows.format;
  for (int64_t r = 0; r < rows.num_rows; ++r) {
    for (int64_t k = 0; k < rows.num_cols; ++k) {
      const auto at = static_cast<size_t>(r * rows.num_cols + k);
      if (format.form == CanonicalForm::kF32) Put(&out, (k * 16 + r) * 4, rows.f32[at]);
      if (format.form == CanonicalForm::kBF16) Put(&out, (k / 2 * 32 + r * 2 + k % 2) * 2, rows.half[at]);
      if (format.form == CanonicalForm::kF16) Put(&out, (k * 16 + r) * 2, rows.half[at]);
      if (format.form != CanonicalForm::kGrouped) continue;
      const int64_t record = k / format.group_size * linear.record_bytes();
      const int64_t column = k % format.group_size;
      if (format.code_bits == 8) {
        Put(&out, record + column * 16 + r, rows.codes[at]);
      } else {
        int nibble = 0;
        while (format.code_table[nibble] != rows.codes[at]) ++nibble;
        out[static_cast<size_t>(record + column / 2 * 16 + r)] |= std::byte(nibble << (column % 2 * 4));
      }
      const auto group = static_cast<size_t>((r * rows.num_cols + k) / format.group_size);
      const auto span = [&](int64_t offset, float value) {
        if (format.f16_scales) {
          Put(&out, record + offset + r * 2, F32ToF16(value));
        } else {
          Put(&out, record + offset + r * 4, value);
        }
      };
      span(linear.scales_offset(), rows.scales[group]);
      if (format.has_min) span(linear.mins_offset(), rows.mins[group]);
    }
  }
  return out;
}

TEST(PackedLinearTest, EveryPanelLiesAsDescribed) {
  std::mt19937 random(5);
  for (const Case& c : Cases()) {
    constexpr int64_t kOutputs = 16 + 16 + 5;  // two whole panels and a part of one
    Result<PackedLinear> linear = PackedLinear::Create(c.format, kOutputs, c.num_cols);
    ASSERT_TRUE(linear.ok()) << c.name;
    for (int64_t panel = 0; panel < 3; ++panel) {
      const CanonicalRows rows = RandomRows(c, panel < 2 ? 16 : 5, random);
      linear->PackPanel(panel, rows);
      const std::vector<std::byte> want = PackByDescription(*linear, rows);
      if (!rows.half.empty() &&
          linear->TryPackPanelFrom(panel, reinterpret_cast<const std::byte*>(rows.half.data()))) {
        EXPECT_EQ(rows.num_rows, 16);
      }
      ASSERT_EQ(std::memcmp(linear->panel(panel), want.data(), want.size()), 0)
          << c.name << ", panel " << panel;
    }
  }
}

TEST(PackedLinearTest, LowPartsAreSeenInWholePanels) {
  const CanonicalFormat format{.form = CanonicalForm::kF16};
  CanonicalRows rows;
  rows.format = format;
  rows.num_rows = 16;
  rows.num_cols = 64;
  rows.half.assign(16 * 64, 0x3C08);  // 1 + 2^-7: exact in BF16
  Result<PackedLinear> linear = PackedLinear::Create(format, 48, 64);
  ASSERT_TRUE(linear.ok());
  linear->PackPanel(0, rows);
  rows.half[1000] = 0x3C01;  // 1 + 2^-10
  linear->PackPanel(1, rows);
  rows.half[1000] = 0x0009;  // a small number of F16 with four significant bits
  ASSERT_TRUE(linear->TryPackPanelFrom(2, reinterpret_cast<const std::byte*>(rows.half.data())));
  EXPECT_FALSE(linear->HasLowParts(0));
  EXPECT_TRUE(linear->HasLowParts(1));
  EXPECT_FALSE(linear->HasLowParts(2));
}

}  // namespace
}  // namespace firebrick
