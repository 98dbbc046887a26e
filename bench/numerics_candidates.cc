// Candidate definitions of a linear layer over coded weights, compared on this machine: error of a dot
// product on normally distributed data, and speed at 1, 16 and 512 rows, one thread, weights in cache. Time
// is the thread's CPU time, so that a busy machine disturbs it little. Prints a table for
// docs/contracts/numerics.md.
//
//   int8    activations rounded to INT8 per group of 32, exact integer dots, one FP32 fma per group
//   codes   integer codes x BF16 activations by pair chains, scale at the group's end   (x86-v1)
//   bf16    weights expanded to BF16 x BF16 activations by pair chains
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <vector>

#include <immintrin.h>

#include "device/fp_mode.h"
#include "kernels/ops.h"
#include "tensor/float_bits.h"

namespace firebrick {
namespace {

constexpr int64_t kCols = 2048;
constexpr int64_t kOutputs = 1024;
constexpr int64_t kGroup = 32;
constexpr std::array<int8_t, 16> kOffset = {-8, -7, -6, -5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 7};
constexpr std::array<int8_t, 16> kPlain = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The least time of a call, over at least a third of a second.
double BestTime(const std::function<void()>& call) {
  double best = 1e9;
  double total = 0.0;
  while (total < 0.33) {
    const double start = CpuSeconds();
    call();
    const double took = CpuSeconds() - start;
    best = std::min(best, took);
    total += took;
  }
  return best;
}

struct Kind {
  const char* name;
  CanonicalFormat format;
};

struct Matrix {
  CanonicalRows rows;         // of all outputs
  std::vector<float> values;  // what they stand for
};

// Normally distributed weights, rounded as the format does: symmetric codes, or codes over [min, max].
Matrix MakeMatrix(const CanonicalFormat& format) {
  Matrix m;
  m.rows.format = format;
  m.rows.num_rows = kOutputs;
  m.rows.num_cols = kCols;
  std::mt19937 random(1);
  std::normal_distribution<float> normal(0.0F, 0.02F);
  std::array<float, kGroup> w{};
  for (int64_t group = 0; group < kOutputs * kCols / kGroup; ++group) {
    for (float& value : w) value = normal(random);
    const auto [low, high] = std::minmax_element(w.begin(), w.end());
    const float reach = std::max(-*low, *high);
    float scale = reach / (format.code_bits == 8 ? 127.0F : 7.5F);
    float min = 0.0F;
    if (format.has_min) {
      scale = (*high - *low) / 15.0F;
      min = *low;
    }
    if (format.f16_scales) scale = F16ToF32(F32ToF16(scale));
    m.rows.scales.push_back(scale);
    if (format.has_min) m.rows.mins.push_back(min);
    const float lowest = format.code_bits == 8 ? -127.0F : format.code_table[0];
    const float highest = format.code_bits == 8 ? 127.0F : format.code_table[15];
    for (const float value : w) {
      const float code = std::clamp(std::nearbyint((value - min) / scale), lowest, highest);
      m.rows.codes.push_back(static_cast<int8_t>(code));
      m.values.push_back(code * scale + min);
    }
  }
  return m;
}

PackedLinear Pack(const CanonicalRows& all) {
  Result<PackedLinear> linear = PackedLinear::Create(all.format, all.num_rows, all.num_cols);
  CHECK(linear.ok());
  const auto slice = [](const auto& from, int64_t panel, int64_t per_row, auto* to) {
    if (!from.empty())
      to->assign(from.begin() + panel * 16 * per_row, from.begin() + (panel + 1) * 16 * per_row);
  };
  for (int64_t panel = 0; panel < linear->num_panels(); ++panel) {
    CanonicalRows part;
    part.format = all.format;
    part.num_rows = 16;
    part.num_cols = all.num_cols;
    slice(all.half, panel, kCols, &part.half);
    slice(all.codes, panel, kCols, &part.codes);
    slice(all.scales, panel, kCols / kGroup, &part.scales);
    slice(all.mins, panel, kCols / kGroup, &part.mins);
    linear->PackPanel(panel, part);
  }
  return std::move(linear).value();
}

CanonicalRows Half(const std::vector<float>& values, CanonicalForm form) {
  CanonicalRows rows;
  rows.format.form = form;
  rows.num_rows = kOutputs;
  rows.num_cols = kCols;
  for (const float v : values) rows.half.push_back(form == CanonicalForm::kBF16 ? F32ToBf16(v) : F32ToF16(v));
  return rows;
}

// Root of the mean square error against FP64, relative to that of the results.
double RelativeError(const std::vector<float>& values, const std::vector<float>& x,
                     const std::vector<float>& y) {
  double error = 0.0;
  double size = 0.0;
  for (int64_t o = 0; o < kOutputs; ++o) {
    double want = 0.0;
    for (int64_t k = 0; k < kCols; ++k) want += static_cast<double>(values[o * kCols + k]) * x[k];
    error += (y[o] - want) * (y[o] - want);
    size += want * want;
  }
  return std::sqrt(error / size);
}

// The candidate with INT8 activations: codes [K / 4][16][4] per panel, activations [K], one scale per group.
struct Int8Candidate {
  std::vector<int8_t> codes;
  std::vector<float> scales;  // [panel][group][16]
  std::vector<int8_t> x;
  std::vector<float> x_scales;

  Int8Candidate(const CanonicalRows& rows, const std::vector<float>& input, int64_t num_rows)
      : codes(rows.codes.size()),
        scales(rows.scales.size()),
        x(input.size()),
        x_scales(input.size() / kGroup) {
    for (int64_t o = 0; o < kOutputs; ++o) {
      int8_t* panel = codes.data() + o / 16 * 16 * kCols;
      for (int64_t k = 0; k < kCols; ++k) {
        panel[k / 4 * 64 + o % 16 * 4 + k % 4] = rows.codes[static_cast<size_t>(o * kCols + k)];
      }
      for (int64_t g = 0; g < kCols / kGroup; ++g) {
        scales[static_cast<size_t>((o / 16 * (kCols / kGroup) + g) * 16 + o % 16)] =
            rows.scales[static_cast<size_t>(o * (kCols / kGroup) + g)];
      }
    }
    for (int64_t group = 0; group < num_rows * kCols / kGroup; ++group) {
      const float* in = input.data() + group * kGroup;
      float reach = 0.0F;
      for (int64_t i = 0; i < kGroup; ++i) reach = std::max(reach, std::abs(in[i]));
      x_scales[static_cast<size_t>(group)] = reach / 127.0F;
      for (int64_t i = 0; i < kGroup; ++i) {
        x[static_cast<size_t>(group * kGroup + i)] =
            static_cast<int8_t>(std::nearbyint(in[i] / reach * 127.0F));
      }
    }
  }

  template <int R>
  void Run(int64_t first_row, float* y) const {
    for (int64_t panel = 0; panel < kOutputs / 16; ++panel) {
      __m256 acc[R][2] = {};
      for (int64_t g = 0; g < kCols / kGroup; ++g) {
        __m256i dot[R][2] = {};
        for (int64_t q = 0; q < kGroup / 4; ++q) {
          const auto* w =
              reinterpret_cast<const __m256i*>(codes.data() + (panel * kCols + g * kGroup + q * 4) * 16);
          for (int h = 0; h < 2; ++h) {
            const __m256i weights = _mm256_loadu_si256(w + h);
            for (int r = 0; r < R; ++r) {
              int four = 0;
              __builtin_memcpy(&four, x.data() + (first_row + r) * kCols + g * kGroup + q * 4, 4);
              const __m256i v = _mm256_set1_epi32(four);
              const __m256i sums = _mm256_maddubs_epi16(_mm256_abs_epi8(v), _mm256_sign_epi8(weights, v));
              dot[r][h] = _mm256_add_epi32(dot[r][h], _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
            }
          }
        }
        for (int r = 0; r < R; ++r) {
          const __m256 x_scale =
              _mm256_set1_ps(x_scales[static_cast<size_t>((first_row + r) * (kCols / kGroup) + g)]);
          for (int h = 0; h < 2; ++h) {
            const float* s = scales.data() + (panel * (kCols / kGroup) + g) * 16 + h * 8;
            acc[r][h] = _mm256_fmadd_ps(_mm256_cvtepi32_ps(dot[r][h]),
                                        _mm256_mul_ps(_mm256_loadu_ps(s), x_scale), acc[r][h]);
          }
        }
      }
      for (int r = 0; r < R; ++r) {
        _mm256_storeu_ps(y + (first_row + r) * kOutputs + panel * 16, acc[r][0]);
        _mm256_storeu_ps(y + (first_row + r) * kOutputs + panel * 16 + 8, acc[r][1]);
      }
    }
  }
  void RunAll(int64_t num_rows, float* y) const {
    int64_t row = 0;
    for (; row + 4 <= num_rows; row += 4) Run<4>(row, y);
    for (; row < num_rows; ++row) Run<1>(row, y);
  }
};

void Print(const char* kind, const char* candidate, double bytes, double error,
           const std::array<double, 3>& times) {
  constexpr double kFlops = 2.0 * kOutputs * kCols * 1e-9;
  std::printf("| %-6s | %-9s | %.2f | %.5f | %5.1f | %5.0f | %5.0f | %5.0f |\n", kind, candidate, bytes * 8.0,
              error, bytes * kOutputs * kCols * 1e-9 / times[0], kFlops / times[0], kFlops * 16 / times[1],
              kFlops * 512 / times[2]);
}

constexpr std::array<int64_t, 3> kRows = {1, 16, 512};

void Measure(const char* kind, const char* candidate, const CanonicalRows& rows,
             const std::vector<float>& exact, const std::vector<float>& x) {
  const Ops& ops = *FindOps(IsaLevel::kAvx2);
  const PackedLinear linear = Pack(rows);
  Activation activation;
  CHECK(activation.Reshape(512, kCols, linear.needs()).ok());
  ops.prepare_activation(x.data(), kCols, {0, 512}, &activation);
  std::vector<float> y(512 * kOutputs);
  std::array<double, 3> times{};
  for (size_t i = 0; i < 3; ++i) {
    times[i] = BestTime([&] {
      Linear(ops, linear, activation, {0, kRows[i]}, {0, linear.num_panels()}, nullptr, y.data(), kOutputs);
    });
  }
  const double bytes = static_cast<double>(linear.panel_bytes()) / (16.0 * kCols);
  Print(kind, candidate, bytes, RelativeError(exact, x, y), times);
}

void Main() {
  const FlushDenormals flush;
  const Kind kinds[] = {
      {"Q8_0", {CanonicalForm::kGrouped, 32, false, 8, true, nullptr}},
      {"Q4_0", {CanonicalForm::kGrouped, 32, false, 4, true, kOffset.data()}},
      {"Q4_K", {CanonicalForm::kGrouped, 32, true, 4, false, kPlain.data()}},
  };
  std::mt19937 random(2);
  std::normal_distribution<float> normal;
  std::vector<float> x(512 * kCols);
  for (float& value : x) value = normal(random);
  std::printf(
      "| weights | candidate | bits per weight as packed | relative error | GB/s at 1 row | GFLOP/s at 1 | "
      "16 | 512 |\n");
  std::printf("| --- | --- | --- | --- | --- | --- | --- | --- |\n");
  std::vector<float> wide(kOutputs * kCols);
  for (float& value : wide) value = 0.02F * normal(random);
  Measure("BF16", "chains", Half(wide, CanonicalForm::kBF16), wide, x);
  std::vector<float> halves = wide;
  for (float& value : halves) value = F16ToF32(F32ToF16(value));
  Measure("F16", "high+low", Half(halves, CanonicalForm::kF16), halves, x);
  Measure("F16", "as BF16", Half(halves, CanonicalForm::kBF16), halves, x);
  for (const Kind& kind : kinds) {
    const Matrix matrix = MakeMatrix(kind.format);
    if (!kind.format.has_min) {
      const Int8Candidate int8(matrix.rows, x, 512);
      std::vector<float> y(512 * kOutputs);
      std::array<double, 3> times{};
      for (size_t i = 0; i < 3; ++i) times[i] = BestTime([&] { int8.RunAll(kRows[i], y.data()); });
      Print(kind.name, "int8", 1.0 + 4.0 / kGroup, RelativeError(matrix.values, x, y), times);
    }
    Measure(kind.name, "codes", matrix.rows, matrix.values, x);
    Measure(kind.name, "bf16", Half(matrix.values, CanonicalForm::kBF16), matrix.values, x);
  }
}

}  // namespace
}  // namespace firebrick

int main() {
  firebrick::Main();
  return 0;
}
