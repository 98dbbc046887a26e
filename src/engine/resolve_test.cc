#include "engine/resolve.h"

#include <gtest/gtest.h>

#include "sched/block_ledger.h"

namespace firebrick {
namespace {

ModelFacts SmallModel() {
  ModelFacts model;
  model.max_position = 4096;
  model.geometry.num_kv_heads = 2;
  model.geometry.head_dim = 64;
  model.geometry.groups = {{{0, 1}, 0}, {{2, 3}, 512}};
  return model;
}

TEST(Resolve, PoolNeverExceedsWhatAllSlotsCanUse) {
  EngineOptions options;
  options.max_num_seqs.value = 2;
  const auto resolved = ResolveEngine(options, {64ULL << 30}, SmallModel());
  ASSERT_TRUE(resolved.ok());
  EXPECT_EQ(resolved->config.scheduler.max_model_len, 4096);
  EXPECT_EQ(resolved->config.scheduler.num_blocks, 2 * PeakBlocks(SmallModel().geometry.groups, 4096));
  EXPECT_TRUE(resolved->notes.empty());
}

TEST(Resolve, ShortensTheContextAndSaysSo) {
  EngineOptions options;
  const ModelFacts model = SmallModel();
  options.kv_cache_memory_bytes.value = 20 * model.geometry.page_bytes();
  const auto resolved = ResolveEngine(options, {64ULL << 30}, model);
  ASSERT_TRUE(resolved.ok());
  const int32_t length = resolved->config.scheduler.max_model_len;
  EXPECT_LE(PeakBlocks(model.geometry.groups, length), 20);
  EXPECT_GT(PeakBlocks(model.geometry.groups, length + 1), 20);
  ASSERT_EQ(resolved->notes.size(), 1U);
}

TEST(Resolve, RefusesWhatCannotBe) {
  EngineOptions options;
  options.max_model_len.value = 5000;
  EXPECT_EQ(ResolveEngine(options, {64ULL << 30}, SmallModel()).status().code(),
            StatusCode::kInvalidArgument);
  options.max_model_len.value = 4096;
  options.kv_cache_memory_bytes.value = 10 * SmallModel().geometry.page_bytes();
  EXPECT_EQ(ResolveEngine(options, {64ULL << 30}, SmallModel()).status().code(),
            StatusCode::kResourceExhausted);
  options.max_model_len.value = 0;
  options.kv_cache_memory_bytes.value = 1;
  EXPECT_EQ(ResolveEngine(options, {64ULL << 30}, SmallModel()).status().code(),
            StatusCode::kResourceExhausted);
}

TEST(CutLayerGroups, CutsToTheCommonDivisor) {
  std::vector<int32_t> windows(18, 512);
  windows[5] = windows[11] = windows[17] = 0;
  const auto groups = CutLayerGroups(windows);
  ASSERT_EQ(groups.size(), 6U);
  EXPECT_EQ(groups[0].layers, (std::vector<int32_t>{5, 11, 17}));
  EXPECT_EQ(groups[0].window, 0);
  EXPECT_EQ(groups[1].layers, (std::vector<int32_t>{0, 1, 2}));
}

}  // namespace
}  // namespace firebrick
