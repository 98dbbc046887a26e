// What the rule "every level gives the reference's bits" costs the three hottest kernels on AVX-512: each
// against a variant of the same loops that breaks the rule where the rule asks for work. One thread, operands
// in cache, the thread's CPU time, both sides in turn. Prints a table for docs/decisions.
//
//   BF16 many rows     chains of 256 columns in place of 32: no sums per block
//   Q4_0 many rows     the scale is multiplied into the weights as they are decoded: no sums and scales per
//   group attention          softmax weights are not rounded to BF16
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <random>
#include <vector>

#include "device/fp_mode.h"
#include "kernels/avx512/lanes_avx512.h"
#include "kernels/lanes/attention.h"
#include "kernels/lanes/linear.h"
#include "weights/expand.h"

namespace firebrick {
namespace {

using avx512::Lanes;

struct LooseBf16 : lanes::Bf16Source<Lanes> {
  using Base = lanes::Bf16Source<Lanes>;
  using Base::Base;
  static constexpr int64_t kBlock = 256;
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    Base::LoadPair(block * (kBlock / Base::kBlock) + j / 16, j % 16, even, odd);
  }
};

struct LooseCodes : lanes::CodesSource<Lanes, 4, 32, false> {
  using Base = lanes::CodesSource<Lanes, 4, 32, false>;
  using Base::Base;
  static constexpr int64_t kBlock = 256;
  static constexpr bool kGrouped = false;
  FIREBRICK_INLINE void LoadPair(int64_t block, int64_t j, F& even, F& odd) const {
    const int64_t group = block * (kBlock / Base::kBlock) + j / 16;
    Base::LoadPair(group, j % 16, even, odd);
    const F scale = Scales(group);
    even = Lanes::Mul(even, scale);
    odd = Lanes::Mul(odd, scale);
  }
};

struct UnroundedLanes : Lanes {
  static FIREBRICK_INLINE F RoundToBf16(F v) { return v; }
};

double CpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Prints the median of (rule / loose) over calls in turn.
void Compare(const char* name, const std::function<void()>& rule, const std::function<void()>& loose) {
  constexpr int kRuns = 101;
  const auto time = [](const std::function<void()>& call) {
    const double begin = CpuSeconds();
    call();
    return CpuSeconds() - begin;
  };
  time(rule);
  time(loose);
  std::vector<double> ratios;
  std::vector<double> milliseconds;
  for (int run = 0; run < kRuns; ++run) {
    const double with_rule = time(rule);
    ratios.push_back(with_rule / time(loose));
    milliseconds.push_back(with_rule * 1e3);
  }
  std::sort(ratios.begin(), ratios.end());
  std::sort(milliseconds.begin(), milliseconds.end());
  std::printf("%-22s %8.3f ms   %.3f of the variant's time (quartiles %.3f to %.3f)\n", name,
              milliseconds[kRuns / 2], ratios[kRuns / 2], ratios[kRuns / 4], ratios[kRuns * 3 / 4]);
}

PackedLinear RandomMatrix(const CanonicalFormat& format, int64_t outputs, int64_t cols) {
  std::mt19937 random(7);
  CanonicalRows rows;
  rows.format = format;
  rows.num_rows = kPanelOutputs;
  rows.num_cols = cols;
  for (int64_t i = 0; i < kPanelOutputs * cols; ++i) {
    if (format.form == CanonicalForm::kBF16) {
      rows.half.push_back(static_cast<uint16_t>((random() & 0x807F) | 0x3C80));
    } else {
      rows.codes.push_back(static_cast<int8_t>(static_cast<int>(random() % 16) - 8));
      if (i % 32 == 0) rows.scales.push_back(0x1p-6F);
    }
  }
  PackedLinear packed = std::move(PackedLinear::Create(format, outputs, cols)).value();
  for (int64_t panel = 0; panel < packed.num_panels(); ++panel) packed.PackPanel(panel, rows);
  return packed;
}

template <typename Rule, typename Loose>
void CompareLinear(const char* name, const CanonicalFormat& format, int64_t num_rows) {
  constexpr int64_t kOutputs = 512;
  constexpr int64_t kCols = 2048;
  const PackedLinear weights = RandomMatrix(format, kOutputs, kCols);
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<size_t>(num_rows * kCols));
  for (float& value : x) value = normal(random);
  Activation activation;
  CHECK(activation.Reshape(num_rows, kCols, weights.needs()).ok());
  avx512::kOps.prepare_activation(x.data(), kCols, {0, num_rows}, &activation);
  std::vector<float> y(static_cast<size_t>(num_rows * kOutputs));
  const IndexRange panels{0, weights.num_panels()};
  Compare(
      name,
      [&] {
        lanes::RunLinear<Lanes, Rule>(weights, activation, {0, num_rows}, panels, nullptr, y.data(),
                                      kOutputs);
      },
      [&] {
        lanes::RunLinear<Lanes, Loose>(weights, activation, {0, num_rows}, panels, nullptr, y.data(),
                                       kOutputs);
      });
}

void CompareAttention(const char* name, int32_t context, int32_t num_queries) {
  constexpr int32_t kHeadDim = 64;
  constexpr int32_t kHeads = 4;
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  const int32_t num_blocks = (context + num_queries + kBlockTokens - 1) / kBlockTokens;
  const size_t tile_elements = size_t{kBlockTokens} * kHeadDim;
  std::vector<uint16_t> arena(static_cast<size_t>(num_blocks) * 2 * tile_elements);
  for (uint16_t& value : arena) value = static_cast<uint16_t>((random() & 0x807F) | 0x3E80);
  std::vector<BlockId> table;
  for (int32_t i = 0; i < num_blocks; ++i) table.emplace_back(static_cast<uint32_t>(i));
  std::vector<float> queries(static_cast<size_t>(num_queries) * kHeads * kHeadDim);
  for (float& value : queries) value = normal(random);
  std::vector<float> outputs(queries.size());
  AttentionArgs args;
  args.pages.head_dim = kHeadDim;
  args.pages.arena = reinterpret_cast<std::byte*>(arena.data());
  args.pages.page_bytes = 2 * tile_elements * sizeof(uint16_t);
  args.pages.value_offset = tile_elements * sizeof(uint16_t);
  args.pages.block_table = table.data();
  args.heads_per_kv = kHeads;
  args.scale = 0.125F;
  args.first_position = context;
  args.queries = queries.data();
  args.query_stride = kHeads * kHeadDim;
  args.outputs = outputs.data();
  args.output_stride = kHeads * kHeadDim;
  std::vector<float> scratch(AttentionScratchFloats(kHeadDim));
  const IndexRange all{0, num_queries};
  Compare(
      name, [&] { lanes::AttentionKernel<Lanes>::Attention(args, all, scratch.data()); },
      [&] { lanes::AttentionKernel<UnroundedLanes>::Attention(args, all, scratch.data()); });
}

int Main() {
  if (FindOps(IsaLevel::kAvx512) == nullptr) {
    std::puts("this CPU has no AVX-512: nothing to measure");
    return 0;
  }
  const FlushDenormals flush;
  CanonicalFormat bf16;
  bf16.form = CanonicalForm::kBF16;
  const CanonicalFormat q4_0 = CanonicalFormatOf(*FindWeightType("q4_0"));
  for (const int64_t rows : {int64_t{16}, int64_t{128}}) {
    std::printf("%ld rows\n", rows);
    CompareLinear<lanes::Bf16Source<Lanes>, LooseBf16>("  BF16", bf16, rows);
    CompareLinear<lanes::CodesSource<Lanes, 4, 32, false>, LooseCodes>("  Q4_0", q4_0, rows);
  }
  std::puts("attention");
  CompareAttention("  4,096 + 1 tokens", 4096, 1);
  CompareAttention("  4,096 + 32 tokens", 4096, 32);
  return 0;
}

}  // namespace
}  // namespace firebrick

int main() { return firebrick::Main(); }
