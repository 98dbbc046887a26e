#include "cli/bench_kernels.h"

#include <algorithm>
#include <optional>
#include <random>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/model_session.h"
#include "kernels/peak.h"
#include "weights/expand.h"
#include "weights/quantize.h"

namespace firebrick {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kUsualTypes[] = {"bf16", "f16", "q8_0", "q6_k", "q4_k", "q4_1", "q4_0", "f32"};

struct Measured {
  std::string_view type;
  int32_t rows = 0;
  double bytes_per_s = 0;
  double flops = 0;
  bool grouped = false;
};

// Enough matrices of one type, with equal random weights, that none is still in a cache when its turn comes
// again.
Result<std::vector<PackedLinear>> PackCopies(WeightType type, int64_t outputs, int64_t cols,
                                             ThreadPool& pool) {
  constexpr uint64_t kColdBytes = 128ULL << 20;
  const WeightTypeInfo& info = InfoOf(type);
  std::mt19937 random(7);
  std::normal_distribution<float> normal(0.0F, 0.05F);
  std::vector<float> values(static_cast<size_t>(kPanelOutputs * cols));
  for (float& value : values) value = normal(random);
  std::vector<std::byte> bytes(values.size() / info.block_elements * info.block_bytes);
  QuantizeRows(type, values.data(), cols, kPanelOutputs, bytes.data());
  CanonicalRows rows;
  ExpandRows(type, bytes.data(), cols, 0, kPanelOutputs, &rows);

  std::vector<PackedLinear> copies;
  do {
    ASSIGN_OR_RETURN(PackedLinear linear, PackedLinear::Create(CanonicalFormatOf(type), outputs, cols));
    pool.ParallelFor(linear.num_panels(), [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t panel = begin; panel < end; ++panel) linear.PackPanel(panel, rows);
    });
    copies.push_back(std::move(linear));
  } while (copies.size() * copies[0].resident_bytes() < kColdBytes);
  return copies;
}

// Seconds for all copies once.
Result<double> TimeRows(const Ops& ops, const std::vector<PackedLinear>& copies, int64_t num_rows,
                        int32_t repeat, ThreadPool& pool) {
  const int64_t cols = copies[0].num_cols();
  const int64_t outputs = copies[0].num_outputs();
  std::vector<float> x(static_cast<size_t>(num_rows * cols));
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  Activation activation;
  RETURN_IF_ERROR(activation.Reshape(num_rows, cols, NeedsOf(ops, copies[0])));
  ops.prepare_activation(x.data(), cols, {0, num_rows}, &activation);
  std::vector<float> y(static_cast<size_t>(num_rows * outputs));
  std::vector<double> seconds;
  for (int32_t run = 0; run <= repeat; ++run) {  // the first one warms up
    const auto begin = Clock::now();
    for (const PackedLinear& weights : copies) {
      pool.ParallelFor(weights.num_panels(), [&](int64_t first, int64_t last, int32_t) {
        Linear(ops, weights, activation, {0, num_rows}, {first, last}, nullptr, y.data(), outputs);
      });
    }
    if (run > 0) seconds.push_back(SecondsSince(begin));
  }
  return Median(std::move(seconds));
}

Result<std::vector<WeightType>> ParseTypes(const std::vector<std::string>& names) {
  std::vector<WeightType> types;
  for (const std::string& name : names) {
    const auto type = FindWeightType(name);
    if (!type) return InvalidArgument("--type {}: there is no such weight type", name);
    types.push_back(*type);
  }
  if (types.empty()) {
    for (const std::string_view name : kUsualTypes) types.push_back(FindWeightType(name).value());
  }
  return types;
}

}  // namespace

Status RunBenchKernels(const BenchKernelsOptions& options, std::ostream& out) {
  if (options.cols % 256 != 0) return InvalidArgument("--cols {}: must be a multiple of 256", options.cols);
  ASSIGN_OR_RETURN(const std::vector<WeightType> types, ParseTypes(options.types));
  ASSIGN_OR_RETURN(const Ops* const ops, ResolveOps(options.isa));
  ThreadPool pool(MakeThreadPoolOptions(ReadTopology(), options.threads));
  const double bandwidth = MeasureReadBandwidth(pool);
  const PeakLoops* loops = FindPeakLoops(ops->level);
  const double plain_peak = loops != nullptr ? MeasurePeak(pool, loops->plain) : 0;
  const double grouped_peak = loops != nullptr ? MeasurePeak(pool, loops->grouped) : 0;

  std::vector<Measured> all;
  for (const WeightType type : types) {
    ASSIGN_OR_RETURN(const std::vector<PackedLinear> copies,
                     PackCopies(type, options.outputs, options.cols, pool));
    const auto count = static_cast<double>(copies.size());
    for (const int32_t rows : options.rows) {
      ASSIGN_OR_RETURN(const double seconds, TimeRows(*ops, copies, rows, options.repeat, pool));
      all.push_back({InfoOf(type).name, rows,
                     count * static_cast<double>(copies[0].resident_bytes()) / seconds,
                     count * 2.0 * rows * options.outputs * options.cols / seconds,
                     copies[0].format().form == CanonicalForm::kGrouped});
    }
  }

  const auto peak_share = [&](const Measured& m) {
    const double peak = m.grouped ? grouped_peak : plain_peak;
    return peak > 0 ? m.flops / peak : 0;
  };
  if (options.json) {
    Json list = Json::array();
    for (const Measured& m : all) {
      list.push_back({{"type", m.type},
                      {"rows", m.rows},
                      {"bytes_per_s", m.bytes_per_s},
                      {"bandwidth_share", m.bytes_per_s / bandwidth},
                      {"flops", m.flops},
                      {"peak_share", peak_share(m)}});
    }
    const Json result = {
        {"isa", NameOf(ops->level)}, {"threads", pool.num_threads()},      {"read_bandwidth", bandwidth},
        {"peak_flops", plain_peak},  {"grouped_peak_flops", grouped_peak}, {"outputs", options.outputs},
        {"cols", options.cols},      {"kernels", std::move(list)}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format(
      "{} threads, {}: reads {:.1f} GB/s; multiplies at {:.0f} GFLOP/s, with scales of groups {:.0f}\n",
      pool.num_threads(), NameOf(ops->level), bandwidth / 1e9, plain_peak / 1e9, grouped_peak / 1e9);
  out << "type     rows   GB/s of weights   of the bandwidth   GFLOP/s   of the peak\n";
  for (const Measured& m : all) {
    out << fmt::format("{:8} {:4} {:17.1f} {:17.0f}% {:9.0f} {:12.0f}%\n", m.type, m.rows,
                       m.bytes_per_s / 1e9, 100 * m.bytes_per_s / bandwidth, m.flops / 1e9,
                       100 * peak_share(m));
  }
  return OkStatus();
}

}  // namespace firebrick
