#include "cli/bench_growth.h"

#include <algorithm>
#include <vector>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_steps.h"

namespace firebrick {
namespace {

constexpr int32_t kBatchContext = 64;

// Times of a series of points, and of the point one further on in the same run.
struct Series {
  std::vector<int32_t> at;
  std::vector<std::vector<double>> seconds;  // per point, per run
  std::vector<std::vector<double>> growths;
  explicit Series(std::vector<int32_t> points)
      : at(std::move(points)), seconds(at.size()), growths(at.size()) {}
  void Add(size_t point, double now, double one_more) {
    seconds[point].push_back(now);
    growths[point].push_back(one_more / now);
  }
  double Worst() const {
    double worst = 0;
    for (const auto& growth : growths) worst = std::max(worst, Median(growth));
    return worst;
  }
};

// 32 to 256 in steps of 32, then doubled; each with the position before it, so that a step from one side of
// the border to the other is among the pairs.
std::vector<int32_t> ContextsAtBorders(int32_t max_context) {
  std::vector<int32_t> contexts;
  constexpr int32_t kEvery = 256;
  for (int32_t border = kBlockTokens; border <= max_context;
       border = border < kEvery ? border + kBlockTokens : border * 2) {
    contexts.push_back(border - 1);
    if (border < max_context) contexts.push_back(border);
  }
  return contexts;
}

Result<Series> MeasureBatches(const LoadedModel& loaded, const BenchGrowthOptions& options) {
  ASSIGN_OR_RETURN(BenchSteps steps, BenchSteps::Start(loaded, options.max_batch, kBatchContext + 1));
  steps.OpenUnwritten(options.max_batch);
  std::vector<int32_t> batches;
  for (int32_t batch = 1; batch < options.max_batch; ++batch) batches.push_back(batch);
  Series series(std::move(batches));
  steps.Decode(options.max_batch, kBatchContext, 1);  // warms up
  for (int32_t run = 0; run < options.repeat; ++run) {
    double now = steps.Decode(1, kBatchContext, 1);
    for (size_t i = 0; i < series.at.size(); ++i) {
      const double more = steps.Decode(series.at[i] + 1, kBatchContext, 1);
      series.Add(i, now, more);
      now = more;
    }
  }
  RETURN_IF_ERROR(steps.error());
  return series;
}

Result<Series> MeasureContexts(const LoadedModel& loaded, const BenchGrowthOptions& options) {
  ASSIGN_OR_RETURN(BenchSteps steps, BenchSteps::Start(loaded, 1, options.max_context + 1));
  steps.OpenUnwritten(1);
  Series series(ContextsAtBorders(options.max_context));
  steps.Decode(1, options.max_context, 1);  // warms up
  for (int32_t run = 0; run < options.repeat; ++run) {
    for (size_t i = 0; i < series.at.size(); ++i) {
      // A step at position c reads c + 1 tokens.
      const double now = steps.Decode(1, series.at[i] - 1, 1);
      series.Add(i, now, steps.Decode(1, series.at[i], 1));
    }
  }
  RETURN_IF_ERROR(steps.error());
  return series;
}

Json ToJson(const Series& series, std::string_view what) {
  Json list = Json::array();
  for (size_t i = 0; i < series.at.size(); ++i) {
    list.push_back({{std::string(what), series.at[i]},
                    {"ms", 1e3 * Median(series.seconds[i])},
                    {"growth", Median(series.growths[i])}});
  }
  return list;
}

void Print(const Series& series, std::string_view what, std::ostream& out) {
  out << fmt::format("{:>8} {:>10} {:>20}\n", what, "ms a step", "with one more");
  for (size_t i = 0; i < series.at.size(); ++i) {
    out << fmt::format("{:8} {:10.2f} {:19.3f}x\n", series.at[i], 1e3 * Median(series.seconds[i]),
                       Median(series.growths[i]));
  }
  out << fmt::format("worst: {:.3f}x\n", series.Worst());
}

}  // namespace

Status RunBenchGrowth(const BenchGrowthOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(const LoadedModel loaded, LoadModel(options.model, options.json));
  ASSIGN_OR_RETURN(const Series batches, MeasureBatches(loaded, options));
  ASSIGN_OR_RETURN(const Series contexts, MeasureContexts(loaded, options));
  if (options.json) {
    const Json result = {{"model", loaded.name},
                         {"isa", NameOf(loaded.ops->level)},
                         {"threads", loaded.pool->num_threads()},
                         {"batch", ToJson(batches, "batch")},
                         {"context", ToJson(contexts, "context")},
                         {"worst_batch_growth", batches.Worst()},
                         {"worst_context_growth", contexts.Worst()}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format("{}: {} threads, {}\n", loaded.name, loaded.pool->num_threads(),
                     NameOf(loaded.ops->level));
  Print(batches, "streams", out);
  Print(contexts, "context", out);
  return OkStatus();
}

}  // namespace firebrick
