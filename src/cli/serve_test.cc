#include "cli/serve.h"

#include <csignal>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

TEST(ShutdownSignals, AreWaitedForAndDoNotKill) {
  ShutdownSignals signals;
  EXPECT_FALSE(signals.WaitFor(std::chrono::milliseconds(0)));
  raise(SIGTERM);
  EXPECT_TRUE(signals.WaitFor(std::chrono::milliseconds(1000)));
  raise(SIGINT);
  signals.Wait();
  EXPECT_FALSE(signals.WaitFor(std::chrono::milliseconds(10)));
}

TEST(ReadyLine, SaysUrlModelContextAndKv) {
  EXPECT_EQ(
      ReadyLine({.host = "127.0.0.1", .port = 8000, .model = "m", .max_model_len = 8192, .kv_tokens = 65536}),
      "http://127.0.0.1:8000/v1  model m  context 8192 tokens  KV cache 65536 tokens");
  EXPECT_EQ(ReadyLine({.host = "::1", .port = 1, .model = "m", .max_model_len = 2, .kv_tokens = 3}),
            "http://[::1]:1/v1  model m  context 2 tokens  KV cache 3 tokens");
}

}  // namespace
}  // namespace firebrick
