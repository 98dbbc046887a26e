#include "cli/bench_speed.h"

#include <algorithm>
#include <chrono>
#include <memory>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/model_session.h"

namespace firebrick {
namespace {

using Clock = std::chrono::steady_clock;

// Drives an executor with plans of its own: every stream a slot with blocks of its own in every group.
class SpeedRun {
 public:
  SpeedRun(const LoadedModel& loaded, RankExecutor& executor, int32_t length)
      : executor_(executor),
        num_groups_(static_cast<int32_t>(loaded.model->MakeKvGeometry(loaded.kv_dtype).groups.size())),
        blocks_per_stream_((length + kBlockTokens - 1) / kBlockTokens),
        vocab_size_(std::min(loaded.tokenizer.vocab_size(), loaded.model->config().vocab_size)) {}

  // Prefills `prompt` tokens of each stream, one after another; seconds for all.
  double Prefill(int32_t num_streams, int32_t prompt, int32_t chunk) {
    const auto begin = Clock::now();
    for (int32_t stream = 0; stream < num_streams; ++stream) {
      for (int32_t done = 0; done < prompt; done += chunk) {
        StepPlan plan;
        if (done == 0) Open(stream, prompt, &plan);
        const int32_t count = std::min(chunk, prompt - done);
        plan.rows.push_back({.slot = SeqSlot(static_cast<uint32_t>(stream)),
                             .first_position = done,
                             .num_tokens = count,
                             .wants_token = done + count == prompt});
        for (int32_t i = 0; i < count; ++i) plan.token_ids.push_back(PromptToken(stream, done + i));
        Step(std::move(plan));
      }
    }
    return SecondsSince(begin);
  }

  // Decodes `gen` tokens of every stream together; seconds for all.
  double Decode(int32_t num_streams, int32_t prompt, int32_t gen) {
    const auto begin = Clock::now();
    for (int32_t i = 0; i < gen; ++i) {
      StepPlan plan;
      for (int32_t stream = 0; stream < num_streams; ++stream) {
        plan.rows.push_back({.slot = SeqSlot(static_cast<uint32_t>(stream)),
                             .first_position = prompt + i,
                             .num_tokens = 1,
                             .id_from_slot = true,
                             .wants_token = true});
      }
      Step(std::move(plan));
    }
    return SecondsSince(begin);
  }

  void CloseAll(int32_t num_streams) {
    StepPlan plan;
    for (int32_t stream = 0; stream < num_streams; ++stream) {
      plan.closed.push_back(SeqSlot(static_cast<uint32_t>(stream)));
    }
    Step(std::move(plan));
  }

  Status error() const { return error_; }

 private:
  int32_t PromptToken(int32_t stream, int32_t position) const {
    return static_cast<int32_t>((static_cast<int64_t>(position) * 7919 + stream * 104729 + 17) % vocab_size_);
  }

  void Open(int32_t stream, int32_t prompt, StepPlan* plan) const {
    const SeqSlot slot(static_cast<uint32_t>(stream));
    SlotOpen open;
    open.slot = slot;
    open.sampling.temperature = 0;
    open.num_prompt_tokens = prompt;
    for (int32_t i = 0; i < prompt; ++i) open.tokens.push_back(PromptToken(stream, i));
    plan->opened.push_back(std::move(open));
    for (int32_t group = 0; group < num_groups_; ++group) {
      for (int32_t i = 0; i < blocks_per_stream_; ++i) {
        const int32_t block = (stream * num_groups_ + group) * blocks_per_stream_ + i;
        plan->appended.push_back(
            {slot, static_cast<uint16_t>(group), i, BlockId(static_cast<uint32_t>(block))});
      }
    }
  }

  void Step(StepPlan plan) {
    executor_.Submit(std::move(plan));
    const auto result = executor_.Collect(Clock::time_point::max());
    CHECK(result.has_value());
    for (const RowResult& row : result->rows) {
      if (!row.status.ok()) error_ = row.status;
    }
  }

  RankExecutor& executor_;
  int32_t num_groups_;
  int32_t blocks_per_stream_;
  int32_t vocab_size_;
  Status error_;
};

struct StreamFigures {
  int32_t streams = 0;
  double context_tps = 0;
  double decode_tps = 0;
  double bytes_per_s = 0;
};

constexpr int32_t kChunk = 512;

double MeasurePrefill(SpeedRun& run, const BenchSpeedOptions& options) {
  std::vector<double> seconds;
  for (int32_t i = 0; i < options.repeat; ++i) {
    seconds.push_back(run.Prefill(1, options.prompt, kChunk));
    run.CloseAll(1);
  }
  return options.prompt / Median(seconds);
}

StreamFigures MeasureDecode(SpeedRun& run, const BenchSpeedOptions& options, int32_t streams,
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
  const int32_t num_blocks =
      most * static_cast<int32_t>(geometry.groups.size()) * ((length + kBlockTokens - 1) / kBlockTokens);
  ASSIGN_OR_RETURN(const auto executor, StartExecutor(loaded, num_blocks, most));
  const double bandwidth = MeasureReadBandwidth(*loaded.pool, loaded.ops->level);
  SpeedRun run(loaded, *executor, length);

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
