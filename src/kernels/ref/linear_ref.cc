#include <cstring>

#include "kernels/ref/definition.h"
#include "kernels/ref/ref.h"

namespace firebrick::ref {
namespace {

// Calls value(row, panel, lane) for each output and stores it, plus the bias. The sum with +0 where there is
// no bias turns -0 into +0: so zero padding and skipped zero parts leave no trace.
template <typename Value>
void ForEachOutput(const PackedLinear& weights, IndexRange rows, IndexRange panels, const float* bias,
                   float* y, int64_t ldy, Value&& value) {
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t panel = panels.begin; panel < panels.end; ++panel) {
      for (int64_t lane = 0; lane < kPanelOutputs; ++lane) {
        const int64_t output = panel * kPanelOutputs + lane;
        if (output >= weights.num_outputs()) break;
        y[row * ldy + output] = value(row, panel, lane) + (bias != nullptr ? bias[output] : 0.0F);
      }
    }
  }
}

// weight(k): of one output; x: the row. One accumulator, one pair chain per block of 32 columns.
template <typename Weight>
float DotByBlocks(int64_t padded_cols, const float* x, Weight&& weight) {
  float acc = 0.0F;
  for (int64_t begin = 0; begin < padded_cols; begin += kLinearBlock) {
    acc = acc + PairChain(
                    kLinearBlock, [&](int64_t i) { return weight(begin + i); },
                    [&](int64_t i) { return x[begin + i]; });
  }
  return acc;
}

float LoadScale(const std::byte* span, int64_t lane, bool f16) {
  if (f16) {
    uint16_t bits = 0;
    std::memcpy(&bits, span + lane * 2, 2);
    return F16ToF32(bits);
  }
  float value = 0.0F;
  std::memcpy(&value, span + lane * 4, 4);
  return value;
}

// The integer code at column k of a group.
float LoadCode(const PackedLinear& weights, const std::byte* record, int64_t k, int64_t lane) {
  if (weights.packing() == Packing::kCodes8) {
    return static_cast<float>(static_cast<int8_t>(record[k * kPanelOutputs + lane]));
  }
  const auto pair = static_cast<uint8_t>(record[k / 2 * kPanelOutputs + lane]);
  return static_cast<float>(weights.format().code_table[k % 2 == 0 ? pair & 15 : pair >> 4]);
}

}  // namespace

void PrepareActivation(const float* x, int64_t ldx, IndexRange rows, Activation* out) {
  const ActivationNeeds needs = out->needs();
  const int64_t padded = out->padded_cols();
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    for (int64_t k = 0; k < padded; ++k) {
      const float value = k < out->num_cols() ? x[row * ldx + k] : 0.0F;
      if (needs.exact) out->exact(row)[k] = value;
      if (needs.rounded) out->rounded(row)[k] = RoundToBf16(value);
      if (needs.bf16) out->bf16(row, k / kLinearBlock)[k % kLinearBlock] = F32ToBf16(value);
    }
    for (const int64_t group : {16, 32}) {
      if (!(group == 16 ? needs.sums16 : needs.sums32)) continue;
      for (int64_t begin = 0; begin < padded; begin += group) {
        const float* values = out->rounded(row) + begin;
        out->sums(row, group)[begin / group] = PairChain(
            group, [&](int64_t i) { return values[i]; }, [](int64_t) { return 1.0F; });
      }
    }
  }
}

void LinearF32(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  ForEachOutput(weights, rows, panels, bias, y, ldy, [&](int64_t row, int64_t panel, int64_t lane) {
    const auto* w = reinterpret_cast<const float*>(weights.panel(panel)) + lane;
    return DotByBlocks(weights.padded_cols(), x.exact(row), [&](int64_t k) { return w[k * kPanelOutputs]; });
  });
}

void LinearBf16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                const float* bias, float* y, int64_t ldy) {
  ForEachOutput(weights, rows, panels, bias, y, ldy, [&](int64_t row, int64_t panel, int64_t lane) {
    const auto* w = reinterpret_cast<const uint16_t*>(weights.panel(panel)) + lane * 2;
    return DotByBlocks(weights.padded_cols(), x.rounded(row),
                       [&](int64_t k) { return Bf16ToF32(w[k / 2 * kPanelOutputs * 2 + k % 2]); });
  });
}

// A weight is the exact sum of a high part (its upper 16 bits) and a low part, both BF16; per block first the
// chain of the high parts is added, then that of the low parts.
void LinearF16(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
               const float* bias, float* y, int64_t ldy) {
  ForEachOutput(weights, rows, panels, bias, y, ldy, [&](int64_t row, int64_t panel, int64_t lane) {
    const auto* w = reinterpret_cast<const uint16_t*>(weights.panel(panel)) + lane;
    float acc = 0.0F;
    for (int64_t begin = 0; begin < weights.padded_cols(); begin += kLinearBlock) {
      const auto value = [&](int64_t i) { return F16ToF32(w[(begin + i) * kPanelOutputs]); };
      const auto high = [&](int64_t i) {
        return std::bit_cast<float>(std::bit_cast<uint32_t>(value(i)) & 0xFFFF0000U);
      };
      const auto activation = [&](int64_t i) { return x.rounded(row)[begin + i]; };
      acc = acc + PairChain(kLinearBlock, high, activation);
      acc = acc + PairChain(
                      kLinearBlock, [&](int64_t i) { return value(i) - high(i); }, activation);
    }
    return acc;
  });
}

// Per group: the pair chain of integer codes and activations, times the scale; then the group's sum of
// activations times the min.
void LinearCodes(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                 const float* bias, float* y, int64_t ldy) {
  const CanonicalFormat& format = weights.format();
  const int64_t group = format.group_size;
  ForEachOutput(weights, rows, panels, bias, y, ldy, [&](int64_t row, int64_t panel, int64_t lane) {
    float acc = 0.0F;
    for (int64_t g = 0; g < weights.padded_cols() / group; ++g) {
      const std::byte* record = weights.panel(panel) + g * weights.record_bytes();
      const float dot = PairChain(
          group, [&](int64_t i) { return LoadCode(weights, record, i, lane); },
          [&](int64_t i) { return x.rounded(row)[g * group + i]; });
      acc = std::fma(dot, LoadScale(record + weights.scales_offset(), lane, format.f16_scales), acc);
      if (format.has_min) {
        acc = std::fma(x.sums(row, group)[g],
                       LoadScale(record + weights.mins_offset(), lane, format.f16_scales), acc);
      }
    }
    return acc;
  });
}

}  // namespace firebrick::ref
