#include "cli/bench_speed.h"

#include <algorithm>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_steps.h"

namespace firebrick {
namespace {

struct StreamFigures {
  int32_t streams = 0;
  double context_tps = 0;
  double decode_tps = 0;
  double bytes_per_s = 0;
};

constexpr int32_t kChunk = 512;

double MeasurePrefill(BenchSteps& run, const BenchSpeedOptions& options) {
  std::vector<double> seconds;
  for (int32_t i = 0; i < options.repeat; ++i) {
    seconds.push_back(run.Prefill(1, options.prompt, kChunk));
    run.CloseAll(1);
  }
  return options.prompt / Median(seconds);
}

StreamFigures MeasureDecode(BenchSteps& run, const BenchSpeedOptions& options, int32_t streams,
                            int32_t context) {
  std::vector<double> context_seconds;
  std::vector<double> seconds;
  for (int32_t i = 0; i < options.repeat; ++i) {
    context_seconds.push_back(run.Prefill(streams, context, kChunk));
    run.Decode(streams, context, 1);  // warms up this number of streams
    seconds.push_back(run.Decode(streams, context + 1, options.gen));
    run.CloseAll(streams);
  }
  return {.streams = streams,
          .context_tps = context / Median(context_seconds) * streams,
          .decode_tps = options.gen / Median(seconds) * streams};
}

}  // namespace

Status RunBenchSpeed(const BenchSpeedOptions& options, std::ostream& out) {
  if (options.streams.empty()) return InvalidArgument("--streams names no number of streams");
  const int32_t context = options.context > 0 ? options.context : options.prompt;
  if (context == 0) return InvalidArgument("--prompt 0 leaves the context open; add --context N");
  ASSIGN_OR_RETURN(const LoadedModel loaded, LoadModel(options.model, options.json));
  const int32_t length = std::max(options.prompt, context + options.gen + 1);
  const int32_t most = *std::max_element(options.streams.begin(), options.streams.end());
  const KvGeometry geometry = loaded.model->MakeKvGeometry(loaded.kv_dtype);
  ASSIGN_OR_RETURN(BenchSteps run, BenchSteps::Start(loaded, most, length));
  const double bandwidth = MeasureReadBandwidth(*loaded.pool, loaded.ops->level);

  run.Prefill(1, std::min(kChunk, std::max(options.prompt, context)), kChunk);  // warms up
  run.CloseAll(1);
  const double prefill_tps = options.prompt > 0 ? MeasurePrefill(run, options) : 0;
  std::vector<StreamFigures> figures;
  for (const int32_t streams : options.streams) {
    figures.push_back(MeasureDecode(run, options, streams, context));
    StreamFigures& f = figures.back();
    const double kv_bytes = static_cast<double>(streams) * (context + 1 + options.gen / 2.0) / kBlockTokens *
                            static_cast<double>(geometry.page_bytes() * geometry.groups.size());
    f.bytes_per_s = f.decode_tps / streams * (static_cast<double>(loaded.model->step_bytes()) + kv_bytes);
  }
  RETURN_IF_ERROR(run.error());

  if (options.json) {
    Json list = Json::array();
    for (const StreamFigures& f : figures) {
      list.push_back({{"streams", f.streams},
                      {"context_tps", f.context_tps},
                      {"decode_tps", f.decode_tps},
                      {"bytes_per_s", f.bytes_per_s},
                      {"roofline_share", f.bytes_per_s / bandwidth}});
    }
    const Json result = {{"model", loaded.name},
                         {"prompt", options.prompt},
                         {"context", context},
                         {"gen", options.gen},
                         {"isa", NameOf(loaded.ops->level)},
                         {"threads", loaded.pool->num_threads()},
                         {"read_bandwidth", bandwidth},
                         {"prefill_tps", prefill_tps},
                         {"streams", std::move(list)}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format("{}: {} threads, {}, read bandwidth {:.1f} GB/s\n", loaded.name,
                     loaded.pool->num_threads(), NameOf(loaded.ops->level), bandwidth / 1e9);
  if (options.prompt > 0) {
    out << fmt::format("prefill of {} tokens: {:.1f} tokens/s\n", options.prompt, prefill_tps);
  }
  out << fmt::format("decode of {} tokens after {}:\n", options.gen, context);
  out << "streams   decode tokens/s   GB/s   of the bandwidth\n";
  for (const StreamFigures& f : figures) {
    out << fmt::format("{:7} {:17.1f} {:6.1f} {:17.0f}%\n", f.streams, f.decode_tps, f.bytes_per_s / 1e9,
                       100 * f.bytes_per_s / bandwidth);
  }
  return OkStatus();
}

}  // namespace firebrick
