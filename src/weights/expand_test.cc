// Every weight type against the Python package `gguf`, bit for bit (testdata: tools/make_dequant_goldens.py).
#include "weights/expand.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/file.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

struct Golden {
  WeightType type;
  int64_t num_elements;
  std::vector<std::byte> bytes;
  std::vector<float> values;
};

std::vector<Golden> ReadGoldens() {
  const std::string data =
      ReadFile(FIREBRICK_SOURCE_DIR "/src/weights/testdata/dequant_goldens.bin", 1 << 20).value();
  std::vector<Golden> goldens;
  for (size_t at = 0; at < data.size();) {
    uint32_t head[4];
    std::memcpy(head, data.data() + at, sizeof(head));
    at += sizeof(head);
    Golden golden{FindWeightTypeByGgufId(head[0]).value(), int64_t{head[1]} * head[3], {}, {}};
    golden.bytes.resize(size_t{head[1]} * head[2]);
    golden.values.resize(static_cast<size_t>(golden.num_elements));
    std::memcpy(golden.bytes.data(), data.data() + at, golden.bytes.size());
    at += golden.bytes.size();
    std::memcpy(golden.values.data(), data.data() + at, golden.values.size() * 4);
    at += golden.values.size() * 4;
    goldens.push_back(std::move(golden));
  }
  return goldens;
}

TEST(Expand, DequantizesAsThePythonPackageDoes) {
  const std::vector<Golden> goldens = ReadGoldens();
  ASSERT_EQ(goldens.size(), 15U);
  for (const Golden& golden : goldens) {
    std::vector<float> values(golden.values.size());
    DequantizeRows(golden.type, golden.bytes.data(), golden.num_elements, 0, 1, values.data());
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(std::bit_cast<uint32_t>(values[i]), std::bit_cast<uint32_t>(golden.values[i]))
          << InfoOf(golden.type).name << " element " << i << ": " << values[i] << " != " << golden.values[i];
    }
  }
}

float CanonicalValue(const CanonicalRows& rows, size_t i) {
  const CanonicalFormat& format = rows.format;
  if (format.form == CanonicalForm::kF32) return rows.f32[i];
  if (format.form == CanonicalForm::kF16) return F16ToF32(rows.half[i]);
  if (format.form == CanonicalForm::kBF16) return Bf16ToF32(rows.half[i]);
  const size_t group = i / format.group_size;
  const float product = rows.scales[group] * static_cast<float>(rows.codes[i]);
  return format.has_min ? product + rows.mins[group] : product;
}

TEST(Expand, CanonicalFormHoldsTheSameValues) {
  CanonicalRows rows;  // one object for all types: what a former type left must not show
  for (const Golden& golden : ReadGoldens()) {
    ExpandRows(golden.type, golden.bytes.data(), golden.num_elements, 0, 1, &rows);
    EXPECT_EQ(rows.format, CanonicalFormatOf(golden.type));
    for (size_t i = 0; i < golden.values.size(); ++i) {
      ASSERT_EQ(CanonicalValue(rows, i), golden.values[i]) << InfoOf(golden.type).name << " element " << i;
    }
  }
}

TEST(Expand, FormatsKeepTheirPromises) {
  CanonicalRows rows;
  for (const Golden& golden : ReadGoldens()) {
    ExpandRows(golden.type, golden.bytes.data(), golden.num_elements, 0, 1, &rows);
    const CanonicalFormat format = rows.format;
    if (format.form != CanonicalForm::kGrouped) continue;
    const std::string name(InfoOf(golden.type).name);
    EXPECT_TRUE(format.group_size == 16 || format.group_size == 32) << name;
    EXPECT_EQ(format.code_bits == 4, format.code_table != nullptr) << name;
    EXPECT_EQ(InfoOf(golden.type).block_elements % format.group_size, 0U) << name;
    for (const int8_t code : rows.codes) {
      if (format.code_table == nullptr) break;
      EXPECT_NE(std::memchr(format.code_table, code, 16), nullptr) << name << " code " << int{code};
    }
    for (const float scale : rows.scales) {
      EXPECT_TRUE(!format.f16_scales || F16ToF32(F32ToF16(scale)) == scale) << name;
    }
    EXPECT_TRUE(!format.has_min || rows.mins.size() == rows.scales.size()) << name;
  }
}

TEST(Expand, RowsAreFoundByTheirIndex) {
  for (const Golden& golden : ReadGoldens()) {
    const WeightTypeInfo& info = InfoOf(golden.type);
    const int64_t num_cols = info.block_elements == 1 ? 64 : 2 * info.block_elements;
    std::vector<float> row(static_cast<size_t>(num_cols));
    DequantizeRows(golden.type, golden.bytes.data(), num_cols, 2, 1, row.data());
    for (int64_t i = 0; i < num_cols; ++i) {
      EXPECT_EQ(row[static_cast<size_t>(i)], golden.values[static_cast<size_t>(2 * num_cols + i)])
          << info.name;
    }
    CanonicalRows rows;
    ExpandRows(golden.type, golden.bytes.data(), num_cols, 1, 2, &rows);
    EXPECT_EQ(CanonicalValue(rows, static_cast<size_t>(num_cols)), row[0]) << info.name;
  }
}

}  // namespace
}  // namespace firebrick
