// Random operations on the whole engine logic. FIREBRICK_SIM_OPERATIONS sets how many (60,000 by default; the
// long suite runs 1,000,000), FIREBRICK_SIM_SEED the first seed: a failure prints the seed that repeats it.
#include "engine_sim.h"

#include <cstdlib>

#include <gtest/gtest.h>

namespace firebrick {
namespace {

constexpr int64_t kOperationsPerEpisode = 1000;

int64_t FromEnvironment(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  return text == nullptr ? fallback : std::strtoll(text, nullptr, 10);
}

TEST(EngineSim, RandomOperationsKeepEveryInvariantAndEveryAnswer) {
  const int64_t num_operations = FromEnvironment("FIREBRICK_SIM_OPERATIONS", 60'000);
  auto seed = static_cast<uint64_t>(FromEnvironment("FIREBRICK_SIM_SEED", 1));
  EngineSim::Tally tally;
  int64_t done = 0;
  for (; done < num_operations; done += kOperationsPerEpisode, ++seed) {
    EngineSim sim(seed);
    sim.Run(kOperationsPerEpisode);
    tally.Add(sim.tally());
    ASSERT_EQ(sim.fault(), "") << "repeat with FIREBRICK_SIM_SEED=" << seed << " FIREBRICK_SIM_OPERATIONS=1";
  }
  std::printf(
      "engine_sim: %lld operations, %llu steps, %llu finished, %llu cancelled, %llu expired, %llu failed, "
      "%llu refused, %llu preemptions, %llu prefix hits (%llu with sliding groups), %llu evictions of all\n",
      static_cast<long long>(done), static_cast<unsigned long long>(tally.steps),
      static_cast<unsigned long long>(tally.finished), static_cast<unsigned long long>(tally.cancelled),
      static_cast<unsigned long long>(tally.expired), static_cast<unsigned long long>(tally.failed),
      static_cast<unsigned long long>(tally.refused), static_cast<unsigned long long>(tally.preemptions),
      static_cast<unsigned long long>(tally.hits), static_cast<unsigned long long>(tally.sliding_hits),
      static_cast<unsigned long long>(tally.drops));
  if (num_operations < 10'000) return;  // one seed repeated: it need not reach everything
  EXPECT_GT(tally.finished, 0U);
  EXPECT_GT(tally.cancelled, 0U);
  EXPECT_GT(tally.expired, 0U);
  EXPECT_GT(tally.failed, 0U);
  EXPECT_GT(tally.preemptions, 0U);
  EXPECT_GT(tally.hits, 0U);
  EXPECT_GT(tally.sliding_hits, 0U);
}

}  // namespace
}  // namespace firebrick
