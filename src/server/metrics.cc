#include "server/metrics.h"

#include <map>
#include <utility>
#include <vector>

#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include "device/ledger.h"

namespace firebrick {
namespace {

using Labels = std::map<std::string, std::string>;
using Bounds = std::vector<double>;

const Bounds kLatencyBounds{0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25, 0.5,  0.75,
                            1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160., 640., 2560.0};
const Bounds kGapBounds{0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15,
                        0.2,   0.3,    0.4,   0.5,  0.75,  1.0,  2.5,   5.0, 10.0};
const Bounds kTokenBounds{1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000, 100000};
const Bounds kChoiceBounds{1, 2, 5, 10, 20};

}  // namespace

struct ServerMetrics::Families {
  Families(const std::string& model_name, int32_t block_size)
      : labels{{"engine", "0"}, {"model_name", model_name}}, block_tokens(block_size) {}

  prometheus::Histogram* Histogram(const std::string& name, const std::string& help, const Bounds& bounds) {
    return &prometheus::BuildHistogram().Name(name).Help(help).Register(registry).Add(labels, bounds);
  }
  void AddValue(std::vector<prometheus::MetricFamily>* out, prometheus::MetricType type,
                const std::string& name, const std::string& help, double value,
                const Labels& extra = {}) const {
    // Values of one name that differ in labels are one family.
    if (out->empty() || out->back().name != name) out->push_back({name, help, type, {}});
    prometheus::ClientMetric metric;
    Labels all = labels;
    all.insert(extra.begin(), extra.end());
    for (const auto& [key, text] : all) metric.label.push_back({key, text});
    if (type == prometheus::MetricType::Counter) {
      metric.counter.value = value;
    } else {
      metric.gauge.value = value;
    }
    out->back().metric.push_back(std::move(metric));
  }

  const Labels labels;
  const int32_t block_tokens;
  prometheus::Registry registry;
  prometheus::Histogram* ttft =
      Histogram("vllm:time_to_first_token_seconds", "Time to first token", kLatencyBounds);
  prometheus::Histogram* gap =
      Histogram("vllm:inter_token_latency_seconds", "Time between tokens", kGapBounds);
  prometheus::Histogram* e2e = Histogram("vllm:e2e_request_latency_seconds", "Whole request", kLatencyBounds);
  prometheus::Histogram* queue = Histogram("vllm:request_queue_time_seconds", "Waiting", kLatencyBounds);
  prometheus::Histogram* prefill = Histogram("vllm:request_prefill_time_seconds", "Prefill", kLatencyBounds);
  prometheus::Histogram* decode = Histogram("vllm:request_decode_time_seconds", "Decode", kLatencyBounds);
  prometheus::Histogram* inference =
      Histogram("vllm:request_inference_time_seconds", "Prefill and decode", kLatencyBounds);
  prometheus::Histogram* per_token = Histogram("vllm:request_time_per_output_token_seconds",
                                               "Decode time per token of a request", kGapBounds);
  prometheus::Histogram* prompt_tokens =
      Histogram("vllm:request_prompt_tokens", "Prompt tokens of a request", kTokenBounds);
  prometheus::Histogram* generation_tokens =
      Histogram("vllm:request_generation_tokens", "Generated tokens of a request", kTokenBounds);
  prometheus::Histogram* params_n = Histogram("vllm:request_params_n", "The field n", kChoiceBounds);
  prometheus::Histogram* params_max_tokens =
      Histogram("vllm:request_params_max_tokens", "The field max_tokens", kTokenBounds);
};

ServerMetrics::ServerMetrics(const std::string& model_name, int32_t block_tokens)
    : families_(std::make_unique<Families>(model_name, block_tokens)) {}
ServerMetrics::~ServerMetrics() = default;

EngineObservers ServerMetrics::Observers() {
  Families* families = families_.get();
  EngineObservers observers;
  observers.time_to_first_token = [families](double seconds) { families->ttft->Observe(seconds); };
  observers.inter_token = [families](double seconds) { families->gap->Observe(seconds); };
  observers.finished = [families](const TokenDelta& last) {
    const Timings& timings = last.timings;
    families->queue->Observe(timings.queue_ms / 1e3);
    families->prefill->Observe(timings.prefill_ms / 1e3);
    families->decode->Observe(timings.decode_ms / 1e3);
    families->inference->Observe((timings.prefill_ms + timings.decode_ms) / 1e3);
    families->e2e->Observe((timings.queue_ms + timings.prefill_ms + timings.decode_ms) / 1e3);
    families->prompt_tokens->Observe(last.usage.prompt_tokens);
    families->generation_tokens->Observe(last.usage.completion_tokens);
    if (last.usage.completion_tokens > 1) {
      families->per_token->Observe(timings.decode_ms / 1e3 / (last.usage.completion_tokens - 1));
    }
  };
  return observers;
}

void ServerMetrics::ObserveParams(int num_choices, int max_tokens) {
  families_->params_n->Observe(num_choices);
  families_->params_max_tokens->Observe(max_tokens);
}

std::string ServerMetrics::Render(const EngineCounters& counters) {
  std::vector<prometheus::MetricFamily> all = families_->registry.Collect();
  const auto gauge = [&](const std::string& name, const std::string& help, double value) {
    families_->AddValue(&all, prometheus::MetricType::Gauge, name, help, value);
  };
  const auto counter = [&](const std::string& name, const std::string& help, uint64_t value,
                           const Labels& extra = {}) {
    families_->AddValue(&all, prometheus::MetricType::Counter, name, help, static_cast<double>(value), extra);
  };
  const double usage =
      counters.num_blocks > 0 ? static_cast<double>(counters.num_blocks_used) / counters.num_blocks : 0;
  gauge("vllm:num_requests_running", "Requests in the batch", counters.num_running);
  gauge("vllm:num_requests_waiting", "Requests waiting", counters.num_waiting);
  gauge("vllm:kv_cache_usage_perc", "Share of the KV blocks that sequences hold, 0 to 1", usage);
  gauge("vllm:gpu_cache_usage_perc", "Old name of vllm:kv_cache_usage_perc", usage);
  families_->AddValue(&all, prometheus::MetricType::Gauge, "vllm:cache_config_info", "Shape of the KV cache",
                      1,
                      {{"block_size", std::to_string(families_->block_tokens)},
                       {"num_gpu_blocks", std::to_string(counters.num_blocks)}});
  gauge("firebrick:kv_blocks_cached", "Blocks free to take and still indexed", counters.num_blocks_cached);
  for (size_t i = 0; i < kNumMemoryAccounts; ++i) {
    const auto account = static_cast<MemoryAccount>(i);
    families_->AddValue(&all, prometheus::MetricType::Gauge, "firebrick:memory_bytes",
                        "Memory of 1 MiB and more by what it is for; the KV cache counts whole",
                        static_cast<double>(ProcessLedger().BytesOf(account)),
                        {{"account", std::string(NameOf(account))}});
  }
  counter("vllm:prompt_tokens_total", "Prompt tokens", counters.prompt_tokens);
  counter("vllm:generation_tokens_total", "Generated tokens", counters.generated_tokens);
  counter("vllm:prefix_cache_queries_total", "Prompt tokens looked up in the prefix cache",
          counters.prefix_queries);
  counter("vllm:prefix_cache_hits_total", "Of them, found", counters.prefix_hits);
  counter("vllm:num_preemptions_total", "Preemptions", counters.num_preemptions);
  counter("firebrick:steps_total", "Engine steps", counters.num_steps);
  const std::string success = "vllm:request_success_total";
  counter(success, "Finished requests by reason", counters.finished_stop, {{"finished_reason", "stop"}});
  counter(success, "", counters.finished_length, {{"finished_reason", "length"}});
  counter(success, "", counters.finished_cancelled, {{"finished_reason", "abort"}});
  counter(success, "", counters.finished_error, {{"finished_reason", "error"}});
  return prometheus::TextSerializer().Serialize(all);
}

}  // namespace firebrick
