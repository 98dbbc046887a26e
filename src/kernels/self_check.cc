#include "kernels/self_check.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <random>
#include <vector>

#include "device/fp_mode.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

constexpr std::array<int8_t, 16> kCodes = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr int64_t kOutputs = 37;  // two panels and a part of one
constexpr int64_t kCols = 96;

struct Format {
  const char* name;
  CanonicalFormat format;
};

const std::array<Format, 8>& Formats() {
  static const std::array<Format, 8> kFormats = {{
      {"F32", {.form = CanonicalForm::kF32}},
      {"BF16", {.form = CanonicalForm::kBF16}},
      {"F16", {.form = CanonicalForm::kF16}},
      {"8-bit codes", {CanonicalForm::kGrouped, 32, false, 8, true, nullptr}},
      {"8-bit codes in groups of 16", {CanonicalForm::kGrouped, 16, false, 8, false, nullptr}},
      {"4-bit codes", {CanonicalForm::kGrouped, 32, false, 4, true, kCodes.data()}},
      {"4-bit codes with minima", {CanonicalForm::kGrouped, 32, true, 4, true, kCodes.data()}},
      {"4-bit codes in groups of 16", {CanonicalForm::kGrouped, 16, true, 4, false, kCodes.data()}},
  }};
  return kFormats;
}

class Check {
 public:
  explicit Check(const Ops& ops) : ops_(ops), ref_(*FindOps(IsaLevel::kRef)) {}

  Status Linear(const Format& format) {
    ASSIGN_OR_RETURN(PackedLinear weights, PackedLinear::Create(format.format, kOutputs, kCols));
    for (int64_t panel = 0; panel < weights.num_panels(); ++panel) {
      weights.PackPanel(panel, RandomRows(format.format, std::min<int64_t>(16, kOutputs - panel * 16)));
    }
    for (const int64_t num_rows : {1, 3, 40}) {
      std::vector<float> x(static_cast<size_t>(num_rows * kCols));
      for (float& value : x) value = normal_(random_);
      ASSIGN_OR_RETURN(const std::vector<float> want, Product(ref_, weights, x, num_rows));
      ASSIGN_OR_RETURN(const std::vector<float> got, Product(ops_, weights, x, num_rows));
      if (std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) != 0) {
        return DataLoss("{} weights times {} rows", format.name, num_rows);
      }
    }
    return OkStatus();
  }

  Status Attention(KvDType dtype) {
    constexpr int32_t kTokens = 70;
    constexpr int32_t kQueries = 3;
    constexpr int32_t kDim = 64;
    constexpr int32_t kBlocks = (kTokens + kBlockTokens - 1) / kBlockTokens;
    const KvGeometry geometry{dtype, 1, kDim, {{{0}, 0}}};
    std::vector<float> keys(kTokens * kDim);
    std::vector<float> values(kTokens * kDim);
    std::vector<float> queries(kQueries * kDim);
    for (std::vector<float>* list : {&keys, &values, &queries}) {
      for (float& value : *list) value = normal_(random_);
    }
    std::vector<BlockId> table;
    for (int32_t i = kBlocks; i > 0; --i) table.emplace_back(static_cast<uint32_t>(i - 1));
    const auto outputs = [&](const Ops& ops) -> Result<std::vector<float>> {
      ASSIGN_OR_RETURN(AlignedBuffer arena,
                       AlignedBuffer::Allocate(MemoryAccount::kOther, geometry.page_bytes() * kBlocks));
      const KvHeadPages pages{dtype,
                              kDim,
                              arena.data(),
                              geometry.page_bytes(),
                              geometry.KeyOffset(0, 0),
                              geometry.ValueOffset(0, 0),
                              table.data()};
      ops.kv_write({pages, 0, kTokens, keys.data(), values.data(), kDim, kDim});
      std::vector<float> result(kQueries * kDim);
      std::vector<float> scratch(AttentionScratchFloats(kDim));
      const AttentionArgs args{pages,         1,   0, 0.125F, kTokens - kQueries, queries.data(), kDim,
                               result.data(), kDim};
      ops.attention(args, {0, kQueries}, scratch.data());
      return result;
    };
    ASSIGN_OR_RETURN(const std::vector<float> want, outputs(ref_));
    ASSIGN_OR_RETURN(const std::vector<float> got, outputs(ops_));
    if (std::memcmp(want.data(), got.data(), want.size() * sizeof(float)) == 0) return OkStatus();
    return DataLoss("attention over {} pages", dtype == KvDType::kBF16 ? "BF16" : "F32");
  }

 private:
  static Result<std::vector<float>> Product(const Ops& ops, const PackedLinear& weights,
                                            const std::vector<float>& x, int64_t num_rows) {
    Activation activation;
    RETURN_IF_ERROR(activation.Reshape(num_rows, kCols, NeedsOf(ops, weights)));
    ops.prepare_activation(x.data(), kCols, {0, num_rows}, &activation);
    std::vector<float> y(static_cast<size_t>(num_rows * kOutputs));
    firebrick::Linear(ops, weights, activation, {0, num_rows}, {0, weights.num_panels()}, nullptr, y.data(),
                      kOutputs);
    return y;
  }

  CanonicalRows RandomRows(const CanonicalFormat& format, int64_t num_rows) {
    CanonicalRows rows;
    rows.format = format;
    rows.num_rows = num_rows;
    rows.num_cols = kCols;
    for (int64_t i = 0; i < num_rows * kCols; ++i) {
      const float value = normal_(random_);
      if (format.form == CanonicalForm::kF32) rows.f32.push_back(value);
      if (format.form == CanonicalForm::kBF16) rows.half.push_back(F32ToBf16(value));
      if (format.form == CanonicalForm::kF16) rows.half.push_back(F32ToF16(value));
      if (format.form != CanonicalForm::kGrouped) continue;
      rows.codes.push_back(format.code_bits == 4 ? kCodes[random_() % 16] : static_cast<int8_t>(random_()));
      if (i % format.group_size != 0) continue;
      rows.scales.push_back(F16ToF32(F32ToF16(value)));
      if (format.has_min) rows.mins.push_back(F16ToF32(F32ToF16(normal_(random_))));
    }
    return rows;
  }

  const Ops& ops_;
  const Ops& ref_;
  std::mt19937 random_{11};
  std::normal_distribution<float> normal_;
};

}  // namespace

Status CheckAgainstReference(const Ops& ops) {
  const FlushDenormals flush;
  Check check(ops);
  for (const Format& format : Formats()) RETURN_IF_ERROR(check.Linear(format));
  RETURN_IF_ERROR(check.Attention(KvDType::kF32));
  return check.Attention(KvDType::kBF16);
}

}  // namespace firebrick
