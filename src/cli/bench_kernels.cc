#include "cli/bench_kernels.h"

#include <algorithm>
#include <optional>
#include <random>
#include <span>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/model_session.h"
#include "kernels/peak.h"
#include "weights/expand.h"
#include "weights/quantize.h"

namespace firebrick {
namespace {

using Clock = std::chrono::steady_clock;

constexpr double kFlopsOfRun = 150e9;
constexpr std::string_view kUsualTypes[] = {"bf16", "f16", "q8_0", "q6_k", "q4_k", "q4_1", "q4_0", "f32"};

struct Measured {
  std::string_view type;
  int32_t rows = 0;
  double bytes_per_s = 0;
  double bandwidth = 0;  // of the machine, then
  double flops = 0;      // per second
  double peak = 0;       // of the machine, then
  double bandwidth_share() const { return bytes_per_s / bandwidth; }
  double peak_share() const { return peak > 0 ? flops / peak : 0; }
};

// Enough matrices of one type, with equal random weights, that none is still in a cache when its turn comes
// again.
Result<std::vector<PackedLinear>> PackCopies(WeightType type, int64_t outputs, int64_t cols,
                                             ThreadPool& pool) {
  const uint64_t cold_bytes = ColdBytes();
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
  } while (copies.size() * copies[0].resident_bytes() < cold_bytes);
  return copies;
}

// Seconds for all of some copies once.
Result<double> TimeRows(const Ops& ops, std::span<const PackedLinear> copies, int64_t num_rows,
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
  const PeakLoops* loops = FindPeakLoops(ops->level);

  std::vector<Measured> all;
  for (const WeightType type : types) {
    ASSIGN_OR_RETURN(const std::vector<PackedLinear> copies,
                     PackCopies(type, options.outputs, options.cols, pool));
    const bool grouped = copies[0].format().form == CanonicalForm::kGrouped;
    for (const int32_t rows : options.rows) {
      // Many rows read memory rarely: then some of the copies will do.
      const double flops = 2.0 * rows * options.outputs * options.cols;
      const auto used = static_cast<size_t>(std::clamp(kFlopsOfRun / flops,
                                                       std::min(2.0, static_cast<double>(copies.size())),
                                                       static_cast<double>(copies.size())));
      // Clock rates wander: the machine's figures are taken beside each kernel's.
      const double bandwidth = MeasureReadBandwidth(pool, ops->level);
      const double peak = loops != nullptr ? MeasurePeak(pool, grouped ? loops->grouped : loops->plain) : 0;
      ASSIGN_OR_RETURN(const double seconds,
                       TimeRows(*ops, std::span(copies).first(used), rows, options.repeat, pool));
      const auto count = static_cast<double>(used);
      all.push_back({InfoOf(type).name, rows,
                     count * static_cast<double>(copies[0].resident_bytes()) / seconds, bandwidth,
                     count * flops / seconds, peak});
    }
  }

  if (options.json) {
    Json list = Json::array();
    for (const Measured& m : all) {
      list.push_back({{"type", m.type},
                      {"rows", m.rows},
                      {"bytes_per_s", m.bytes_per_s},
                      {"read_bandwidth", m.bandwidth},
                      {"bandwidth_share", m.bandwidth_share()},
                      {"flops", m.flops},
                      {"peak_flops", m.peak},
                      {"peak_share", m.peak_share()}});
    }
    const Json result = {{"isa", NameOf(ops->level)},
                         {"threads", pool.num_threads()},
                         {"outputs", options.outputs},
                         {"cols", options.cols},
                         {"kernels", std::move(list)}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format("{} threads, {}\n", pool.num_threads(), NameOf(ops->level));
  out << "type     rows   GB/s of weights   memory gives   share   GFLOP/s   the peak   share\n";
  for (const Measured& m : all) {
    out << fmt::format("{:8} {:4} {:17.1f} {:14.1f} {:6.0f}% {:9.0f} {:10.0f} {:6.0f}%\n", m.type, m.rows,
                       m.bytes_per_s / 1e9, m.bandwidth / 1e9, 100 * m.bandwidth_share(), m.flops / 1e9,
                       m.peak / 1e9, 100 * m.peak_share());
  }
  return OkStatus();
}

}  // namespace firebrick
