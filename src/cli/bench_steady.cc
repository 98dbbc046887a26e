#include "cli/bench_steady.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/model_session.h"
#include "engine/engine.h"

namespace firebrick {
namespace {

using Clock = std::chrono::steady_clock;

// When the tokens of a request came.
class ArrivalSink : public TokenSink {
 public:
  void OnDelta(TokenDelta delta) override {
    const std::scoped_lock lock(mutex_);
    for (size_t i = 0; i < delta.tokens.size(); ++i) arrivals_.push_back(Clock::now());
    if (delta.finish) {
      finished_ = true;
      error_ = delta.error;
    }
    changed_.notify_all();
  }
  // Until there are `count` tokens, or the request has ended.
  Status Await(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return arrivals_.size() >= count || finished_; });
    return error_;
  }
  std::vector<Clock::time_point> arrivals() {
    const std::scoped_lock lock(mutex_);
    return arrivals_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Clock::time_point> arrivals_;
  bool finished_ = false;
  Status error_;
};

// A window of time, and what happened in it.
struct Phase {
  std::vector<double> gaps_s;
  double seconds = 0;
  int64_t tokens = 0;
  double tokens_per_s() const { return static_cast<double>(tokens) / seconds; }
};

double Percentile(std::vector<double> values, double share) {
  if (values.empty()) return 0;
  const auto at = static_cast<size_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
  return values[at];
}

class SteadyRun {
 public:
  SteadyRun(ModelSession& session, const BenchSteadyOptions& options)
      : session_(session), options_(options) {}

  Status StartStreams(int32_t max_tokens) {
    for (int32_t stream = 0; stream < options_.streams; ++stream) {
      ASSIGN_OR_RETURN(auto sink, Submit(options_.context, max_tokens));
      streams_.push_back(std::move(sink));
    }
    for (const auto& [id, sink] : streams_) RETURN_IF_ERROR(sink->Await(2));
    return OkStatus();
  }

  void StopStreams() {
    for (const auto& [id, sink] : streams_) session_.engine->Cancel(id);
    for (const auto& [id, sink] : streams_) static_cast<void>(sink->Await(SIZE_MAX));
  }

  // The streams go on until each has `more` further tokens.
  Result<Phase> StreamsAlone(int32_t more) {
    const auto begin = Clock::now();
    std::vector<size_t> wanted;
    for (const auto& [id, sink] : streams_)
      wanted.push_back(sink->arrivals().size() + static_cast<size_t>(more));
    for (size_t i = 0; i < streams_.size(); ++i) RETURN_IF_ERROR(streams_[i].second->Await(wanted[i]));
    return StreamsSince(begin);
  }

  // Prompts one after another, whatever else runs; seconds from each arrival to its first token.
  Result<std::vector<double>> Prompts() {
    std::vector<double> seconds;
    for (int32_t i = 0; i < options_.prompts; ++i) {
      const auto begin = Clock::now();
      ASSIGN_OR_RETURN(const auto prompt, Submit(options_.prompt, 1));
      RETURN_IF_ERROR(prompt.second->Await(1));
      seconds.push_back(SecondsSince(begin));
    }
    return seconds;
  }

  // What the streams got from `begin` until now.
  Phase StreamsSince(Clock::time_point begin) const {
    Phase phase;
    phase.seconds = SecondsSince(begin);
    for (const auto& [id, sink] : streams_) {
      const std::vector<Clock::time_point> arrivals = sink->arrivals();
      for (size_t i = 1; i < arrivals.size(); ++i) {
        if (arrivals[i] < begin) continue;
        ++phase.tokens;
        phase.gaps_s.push_back(std::chrono::duration<double>(arrivals[i] - arrivals[i - 1]).count());
      }
    }
    return phase;
  }

 private:
  using Request = std::pair<RequestId, std::shared_ptr<ArrivalSink>>;

  Result<Request> Submit(int32_t num_tokens, int32_t max_tokens) {
    const int32_t vocab_size = session_.loaded.tokenizer.vocab_size();
    GenerateRequest request;
    request.id = session_.engine->NewRequestId();
    for (int32_t i = 0; i < num_tokens; ++i) {
      request.prompt.push_back(
          static_cast<int32_t>((int64_t{i} * 7919 + int64_t{num_submitted_} * 104729 + 17) % vocab_size));
    }
    ++num_submitted_;
    request.sampling.temperature = 0;
    request.stop.max_tokens = max_tokens;
    auto sink = std::make_shared<ArrivalSink>();
    request.sink = sink;
    const RequestId id = request.id;
    RETURN_IF_ERROR(session_.engine->Submit(std::move(request)));
    return Request{id, std::move(sink)};
  }

  ModelSession& session_;
  const BenchSteadyOptions& options_;
  std::vector<Request> streams_;
  int32_t num_submitted_ = 0;
};

}  // namespace

Status RunBenchSteady(const BenchSteadyOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(options.model, options.json));
  // The streams get as many tokens as the model allows; they are stopped when the last prompt is through.
  constexpr int32_t kMostTokens = 8192;
  const int32_t length = std::min(loaded.model->config().max_position,
                                  std::max(options.prompt + 1, options.context + kMostTokens));
  const KvGeometry geometry = loaded.model->MakeKvGeometry(loaded.kv_dtype);
  EngineOptions engine;
  engine.max_model_len.value = length;
  engine.enable_prefix_caching.value = false;
  engine.kv_cache_memory_bytes.value = static_cast<uint64_t>(options.streams + 2) *
                                       static_cast<uint64_t>((length + kBlockTokens - 1) / kBlockTokens) *
                                       geometry.page_bytes() * geometry.groups.size();
  ASSIGN_OR_RETURN(const auto session, StartSession(std::move(loaded), engine, {}));
  SteadyRun run(*session, options);
  RETURN_IF_ERROR(run.StartStreams(length - options.context));
  ASSIGN_OR_RETURN(const Phase alone, run.StreamsAlone(options.alone_tokens));
  const auto begin = Clock::now();
  ASSIGN_OR_RETURN(const std::vector<double> mixed_prompts, run.Prompts());
  Phase mixed = run.StreamsSince(begin);
  run.StopStreams();
  ASSIGN_OR_RETURN(const std::vector<double> lone_prompts, run.Prompts());

  const int64_t prompt_tokens = int64_t{options.prompt} * options.prompts;
  double lone_seconds = 0;
  for (const double seconds : lone_prompts) lone_seconds += seconds;
  const double unmixed_seconds = lone_seconds + static_cast<double>(mixed.tokens) / alone.tokens_per_s();
  const double gap_growth = Percentile(mixed.gaps_s, 0.99) / Percentile(alone.gaps_s, 0.99);
  const double work_share = unmixed_seconds / mixed.seconds;
  const double lone_rate = static_cast<double>(prompt_tokens) / lone_seconds;
  const double mixed_rate = static_cast<double>(mixed.tokens + prompt_tokens) / mixed.seconds;
  const auto ms = [](const Phase& phase, double share) { return 1e3 * Percentile(phase.gaps_s, share); };
  if (options.json) {
    const Json result = {{"model", session->loaded.name},
                         {"isa", NameOf(session->loaded.ops->level)},
                         {"threads", session->loaded.pool->num_threads()},
                         {"streams", options.streams},
                         {"alone",
                          {{"gap_p50_ms", ms(alone, 0.5)},
                           {"gap_p99_ms", ms(alone, 0.99)},
                           {"tokens_per_s", alone.tokens_per_s()}}},
                         {"prompts", {{"tokens_per_s", lone_rate}}},
                         {"mixed",
                          {{"gap_p50_ms", ms(mixed, 0.5)},
                           {"gap_p99_ms", ms(mixed, 0.99)},
                           {"tokens_per_s", mixed_rate},
                           {"prompt_s", Median(mixed_prompts)}}},
                         {"gap_growth", gap_growth},
                         {"work_share", work_share}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format("{}: {} threads, {}; {} streams, {} prompts of {} tokens\n", session->loaded.name,
                     session->loaded.pool->num_threads(), NameOf(session->loaded.ops->level), options.streams,
                     options.prompts, options.prompt);
  out << fmt::format("streams alone: {:.1f} tokens/s, gaps {:.0f} ms (p50), {:.0f} ms (p99)\n",
                     alone.tokens_per_s(), ms(alone, 0.5), ms(alone, 0.99));
  out << fmt::format("prompts alone: {:.1f} tokens/s\n", lone_rate);
  out << fmt::format("together: {:.1f} tokens/s, gaps {:.0f} ms (p50), {:.0f} ms (p99), a prompt {:.1f} s\n",
                     mixed_rate, ms(mixed, 0.5), ms(mixed, 0.99), Median(mixed_prompts));
  out << fmt::format("p99 gap: {:.2f} times that of the streams alone; work: {:.0f}% of the unmixed rate\n",
                     gap_growth, 100 * work_share);
  return OkStatus();
}

}  // namespace firebrick
