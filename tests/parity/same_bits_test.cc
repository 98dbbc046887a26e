// The same request gives the same bits: alone or beside others, in chunks of any size, on one thread or two,
// on every level of the instruction set, from either file format. Everything here is ==.
#include <gtest/gtest.h>

#include "golden.h"

namespace firebrick {
namespace {

constexpr size_t kPromptTokens = 530;  // crosses 512: a full chunk, block and partition borders

std::vector<int32_t> LongPrompt(const Golden& golden, size_t length, size_t shift) {
  std::vector<int32_t> ids;
  for (size_t i = 0; i < length; ++i)
    ids.push_back(golden.ids[(i * 3 + i / 100 + shift) % golden.ids.size()]);
  return ids;
}

struct Case {
  const char* golden;
  WeightType type;
  KvDType kv_dtype;
};

class SameBitsTest : public testing::TestWithParam<Case> {
 protected:
  SameBitsTest()
      : golden_(ReadGolden(GetParam().golden)),
        path_(WriteGguf(golden_, GetParam().type, folder_.path())),
        prompt_(LongPrompt(golden_, kPromptTokens, 0)),
        loaded_(LoadModel(path_, BestOps(), 1)),
        alone_(Run(loaded_, BestOps(), 512)) {}

  LogitRows Run(const LoadedModel& loaded, const Ops& ops, int32_t chunk) {
    return RunFirst(loaded, ops, {{prompt_}}, chunk, GetParam().kv_dtype);
  }

  TemporaryFolder folder_;
  Golden golden_;
  std::string path_;
  std::vector<int32_t> prompt_;
  LoadedModel loaded_;
  LogitRows alone_;
};

TEST_P(SameBitsTest, AnyChunkSize) {
  ASSERT_EQ(alone_.size(), kPromptTokens);
  for (const int32_t chunk : {1, 7, 64}) {
    EXPECT_TRUE(Run(loaded_, BestOps(), chunk) == alone_) << "chunk " << chunk;
  }
}

TEST_P(SameBitsTest, BesideFifteenOthers) {
  std::vector<DirectList> lists = {{prompt_}};
  for (size_t i = 1; i < 16; ++i) lists.push_back({LongPrompt(golden_, 1 + i * 23, i), i % 2 == 0});
  for (const int32_t chunk : {7, 64}) {
    EXPECT_TRUE(RunFirst(loaded_, BestOps(), lists, chunk, GetParam().kv_dtype) == alone_)
        << "chunk " << chunk;
  }
}

TEST_P(SameBitsTest, OnTwoThreads) {
  const LoadedModel two = LoadModel(path_, BestOps(), 2);
  EXPECT_TRUE(Run(two, BestOps(), 64) == alone_);
}

TEST_P(SameBitsTest, OnEveryLevelOfThisCpu) {
  for (const IsaLevel level : AvailableLevels()) {
    const Ops& ops = *FindOps(level);
    EXPECT_TRUE(Run(LoadModel(path_, ops, 1), ops, 512) == alone_) << NameOf(level);
  }
}

INSTANTIATE_TEST_SUITE_P(Parity, SameBitsTest,
                         testing::Values(Case{"llama2", WeightType::kF32, KvDType::kF32},
                                         Case{"mistral_window", WeightType::kF16, KvDType::kBF16},
                                         Case{"qwen2", WeightType::kBF16, KvDType::kBF16},
                                         Case{"qwen3", WeightType::kQ8_0, KvDType::kBF16},
                                         Case{"smollm3", WeightType::kQ4_1, KvDType::kBF16},
                                         Case{"gemma3_v5", WeightType::kQ5_0, KvDType::kF32}),
                         [](const auto& info) { return std::string(info.param.golden); });

// Files of either format hold the same weights, so they give the same bits: q and k rows that GGUF stores in
// another order are put back.
TEST(SameBits, FromEitherFileFormat) {
  const TemporaryFolder folder;
  for (const char* name : {"llama2", "smollm3", "mistral_window", "qwen3", "gemma3_v5"}) {
    const Golden golden = ReadGolden(name);
    for (const WeightType type : {WeightType::kF32, WeightType::kF16, WeightType::kBF16}) {
      const LoadedModel from_gguf = LoadModel(WriteGguf(golden, type, folder.path()), BestOps(), 1);
      const LoadedModel from_folder = LoadModel(WriteSafetensors(golden, type, folder.path()), BestOps(), 1);
      const LogitRows rows = RunFirst(from_gguf, BestOps(), {{golden.ids}}, 64, KvDType::kBF16);
      EXPECT_EQ(rows.size(), golden.ids.size());
      EXPECT_TRUE(RunFirst(from_folder, BestOps(), {{golden.ids}}, 64, KvDType::kBF16) == rows) << name;
    }
  }
}

// Says which levels the tests above covered here.
TEST(Levels, Avx512) {
  if (FindOps(IsaLevel::kAvx512) == nullptr) {
    GTEST_SKIP()
        << "this CPU has no AVX-512: SameBitsTest covered ref and AVX2; tests/conformance emulates AVX-512";
  }
  EXPECT_EQ(FindOps(IsaLevel::kAvx512)->level, IsaLevel::kAvx512);
}

}  // namespace
}  // namespace firebrick
