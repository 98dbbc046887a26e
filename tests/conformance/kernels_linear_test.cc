// Linear layers of every packing: each level equals the reference, for odd shapes and every split of the
// work.
#include <array>

#include "levels.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

FIREBRICK_CONFORMANCE(LinearConformance);

constexpr std::array<int8_t, 16> kOffsetCodes = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<int8_t, 16> kCurvedCodes = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                 1,    13,   25,  38,  53,  69,  89,  113};

struct Format {
  const char* name;
  CanonicalFormat format;
  bool exact_in_bf16 = false;  // F16 weights without low parts
};

std::vector<Format> Formats() {
  using Form = CanonicalForm;
  return {
      {"f32", {.form = Form::kF32}},
      {"bf16", {.form = Form::kBF16}},
      {"f16", {.form = Form::kF16}},
      {"f16_as_bf16", {.form = Form::kF16}, true},
      {"codes8_g32_f16", {Form::kGrouped, 32, false, 8, true, nullptr}},
      {"codes8_g32_min", {Form::kGrouped, 32, true, 8, false, nullptr}},
      {"codes8_g16", {Form::kGrouped, 16, false, 8, false, nullptr}},
      {"codes8_g16_min", {Form::kGrouped, 16, true, 8, false, nullptr}},
      {"codes4_g32_f16", {Form::kGrouped, 32, false, 4, true, kOffsetCodes.data()}},
      {"codes4_g32_min_f16", {Form::kGrouped, 32, true, 4, true, kOffsetCodes.data()}},
      {"codes4_g32_min", {Form::kGrouped, 32, true, 4, false, kOffsetCodes.data()}},
      {"codes4_g32_curved", {Form::kGrouped, 32, false, 4, false, kCurvedCodes.data()}},
      {"codes4_g16_min", {Form::kGrouped, 16, true, 4, false, kCurvedCodes.data()}},
  };
}

uint16_t HalfOf(const Format& format, float value) {
  if (format.format.form == CanonicalForm::kBF16) return F32ToBf16(value);
  return F32ToF16(format.exact_in_bf16 ? Bf16ToF32(F32ToBf16(value)) : value);
}

CanonicalRows RandomRows(const Format& format, int64_t num_rows, int64_t num_cols, uint32_t seed) {
  CanonicalRows rows;
  rows.format = format.format;
  rows.num_rows = num_rows;
  rows.num_cols = num_cols;
  std::mt19937 random(seed);
  const std::vector<float> values = RandomFloats(static_cast<size_t>(num_rows * num_cols), seed, 0.05F);
  if (format.format.form == CanonicalForm::kF32) rows.f32 = values;
  if (format.format.form == CanonicalForm::kBF16 || format.format.form == CanonicalForm::kF16) {
    for (const float value : values) rows.half.push_back(HalfOf(format, value));
  }
  if (format.format.form != CanonicalForm::kGrouped) return rows;
  for (size_t i = 0; i < values.size(); ++i) {
    rows.codes.push_back(format.format.code_bits == 4 ? format.format.code_table[random() % 16]
                                                      : static_cast<int8_t>(random() % 256));
  }
  const std::vector<float> scales = RandomFloats(values.size() / format.format.group_size, seed + 7, 0.02F);
  for (const float scale : scales) {
    rows.scales.push_back(format.format.f16_scales ? F16ToF32(F32ToF16(scale)) : scale);
    if (format.format.has_min) {
      rows.mins.push_back(format.format.f16_scales ? F16ToF32(F32ToF16(scale * -3.1F)) : scale * -3.1F);
    }
  }
  return rows;
}

PackedLinear Pack(const Format& format, int64_t num_outputs, int64_t num_cols) {
  Result<PackedLinear> linear = PackedLinear::Create(format.format, num_outputs, num_cols);
  CHECK(linear.ok());
  for (int64_t panel = 0; panel < linear->num_panels(); ++panel) {
    const int64_t rows = std::min<int64_t>(16, num_outputs - panel * 16);
    linear->PackPanel(panel,
                      RandomRows(format, rows, num_cols, static_cast<uint32_t>(panel * 31 + num_cols)));
  }
  return std::move(linear).value();
}

struct Shape {
  int64_t outputs;
  int64_t cols;
};

std::vector<Shape> Shapes(const Format& format) {
  if (format.format.form == CanonicalForm::kGrouped)
    return {{1, 32}, {15, 64}, {33, 288}, {50, 576}, {97, 96}};
  return {{1, 1}, {16, 32}, {15, 33}, {50, 80}, {33, 577}, {97, 100}};
}

TEST_P(LinearConformance, EveryFormatShapeAndRowCount) {
  for (const Format& format : Formats()) {
    for (const Shape& shape : Shapes(format)) {
      const PackedLinear linear = Pack(format, shape.outputs, shape.cols);
      EXPECT_EQ(linear.packing() == Packing::kF16 && linear.HasLowParts(0),
                format.format.form == CanonicalForm::kF16 && !format.exact_in_bf16 && shape.cols > 1);
      const std::vector<float> bias = RandomFloats(static_cast<size_t>(shape.outputs), 3);
      for (const int64_t rows : {1, 2, 3, 4, 5, 12, 13, 29, 67, 100}) {
        const std::vector<float> x = RandomFloats(static_cast<size_t>(rows * shape.cols), 11);
        Activation activation;
        ASSERT_TRUE(activation.Reshape(rows, shape.cols, NeedsOf(ops(), linear)).ok());
        ref().prepare_activation(x.data(), shape.cols, {0, rows}, &activation);
        const int64_t ldy = shape.outputs + 3;
        const std::vector<float> blank(static_cast<size_t>(rows * ldy), 42.0F);
        std::vector<float> want = blank;
        std::vector<float> got = blank;
        const float* maybe_bias = rows % 2 == 0 ? bias.data() : nullptr;
        const IndexRange panels{0, linear.num_panels()};
        Linear(ref(), linear, activation, {0, rows}, panels, maybe_bias, want.data(), ldy);
        Linear(ops(), linear, activation, {0, rows}, panels, maybe_bias, got.data(), ldy);
        ASSERT_TRUE(SameBits(want, got))
            << format.name << " " << shape.outputs << "x" << shape.cols << " rows " << rows;
        got = blank;  // the same work in pieces
        for (const IndexRange part : {IndexRange{0, rows / 3}, IndexRange{rows / 3, rows}}) {
          for (int64_t panel = 0; panel < linear.num_panels(); panel += 3) {
            const IndexRange some{panel, std::min(panel + 3, linear.num_panels())};
            Linear(ops(), linear, activation, part, some, maybe_bias, got.data(), ldy);
          }
        }
        ASSERT_TRUE(SameBits(want, got)) << format.name << " in pieces, rows " << rows;
      }
    }
  }
}

// Products that vanish in FTZ mode, and cancellations to zero: signs of zeros are part of "the same bits".
TEST_P(LinearConformance, TinyValuesAndZeros) {
  for (const Format& format : Formats()) {
    const PackedLinear linear = Pack(format, 40, 96);
    std::vector<float> x = HardFloats(7 * 96, 5);
    for (float& value : x) value *= 1e-34F;
    Activation activation;
    ASSERT_TRUE(activation.Reshape(7, 96, NeedsOf(ops(), linear)).ok());
    ref().prepare_activation(x.data(), 96, {0, 7}, &activation);
    std::vector<float> want(7 * 40);
    std::vector<float> got(7 * 40);
    for (const int64_t rows : {1, 7}) {
      Linear(ref(), linear, activation, {0, rows}, {0, 3}, nullptr, want.data(), 40);
      Linear(ops(), linear, activation, {0, rows}, {0, 3}, nullptr, got.data(), 40);
      EXPECT_TRUE(SameBits(want, got)) << format.name;
    }
  }
}

}  // namespace
}  // namespace firebrick
