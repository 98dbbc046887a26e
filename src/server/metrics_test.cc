#include "server/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace firebrick {
namespace {

using ::testing::HasSubstr;

TEST(ServerMetrics, VllmNames) {
  ServerMetrics metrics("my-model", 32);
  const EngineObservers observers = metrics.Observers();
  observers.time_to_first_token(0.03);
  observers.inter_token(0.02);
  TokenDelta last;
  last.usage = {.prompt_tokens = 10, .completion_tokens = 5, .cached_tokens = 0};
  last.timings.decode_ms = 100;
  observers.finished(last);
  metrics.ObserveParams(2, 64);
  EngineCounters counters;
  counters.num_running = 3;
  counters.num_blocks = 8;
  counters.num_blocks_used = 2;
  counters.generated_tokens = 123456789;
  counters.finished_cancelled = 4;
  const std::string text = metrics.Render(counters);
  const std::string labels = R"({engine="0",model_name="my-model"})";
  EXPECT_THAT(text, HasSubstr("vllm:num_requests_running" + labels + " 3\n"));
  EXPECT_THAT(text, HasSubstr("vllm:kv_cache_usage_perc" + labels + " 0.25\n"));
  EXPECT_THAT(text, HasSubstr("vllm:gpu_cache_usage_perc" + labels + " 0.25\n"));
  EXPECT_THAT(text, HasSubstr("vllm:generation_tokens_total" + labels + " 123456789\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:request_success_total counter"));
  EXPECT_THAT(
      text,
      HasSubstr(R"(vllm:request_success_total{engine="0",finished_reason="abort",model_name="my-model"} 4)"));
  EXPECT_THAT(text, HasSubstr("vllm:time_to_first_token_seconds_count" + labels + " 1\n"));
  EXPECT_THAT(text, HasSubstr("vllm:request_time_per_output_token_seconds_sum" + labels + " 0.025"));
  EXPECT_THAT(text, HasSubstr("vllm:request_params_max_tokens_sum" + labels + " 64"));
}

}  // namespace
}  // namespace firebrick
