#include "exec/ops_choice.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "kernels/self_check.h"

namespace firebrick {
namespace {

const CanonicalFormat kBF16{.form = CanonicalForm::kBF16};
const CanonicalFormat kInt8{CanonicalForm::kGrouped, 32, false, 8, true, nullptr};

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "fb-choice-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string folder_;
};

ChoiceRecord SomeRecord() {
  return {{"A CPU", "12-34", 2, {IsaLevel::kAvx2, IsaLevel::kAvx512}},
          "some-model",
          0.01,
          {{"bf16 64x32", IsaLevel::kAvx2, IsaLevel::kAvx512}}};
}

// The tables themselves are never called: tests may stand for levels that this CPU lacks.
struct Candidates {
  Candidates() {
    lower.level = IsaLevel::kAvx2;
    upper.level = IsaLevel::kAvx512;
  }
  Ops lower{};
  Ops upper{};
  std::vector<const Ops*> list{&lower, &upper};
};

TEST(MeasureChoicesTest, TheFasterKernelWinsByShapeAndRows) {
  const Candidates candidates;
  const std::vector<MatrixShape> shapes = {{kBF16, 64, 32}, {kInt8, 64, 32}};
  const LinearTimer timer = [](const Ops& ops, const MatrixShape& shape, int64_t num_rows) -> Result<double> {
    const bool is_lower = ops.level == IsaLevel::kAvx2;
    if (shape.format.form == CanonicalForm::kBF16) return is_lower == (num_rows == 1) ? 1.0 : 2.0;
    return is_lower ? 0.99 : 1.0;  // within the noise: the higher level stays
  };
  const auto choices = MeasureChoices(shapes, candidates.list, timer, 1.0, [] { return 0.0; });
  EXPECT_THAT(choices, testing::ElementsAre(
                           LinearChoice{"bf16 64x32", IsaLevel::kAvx2, IsaLevel::kAvx512},
                           LinearChoice{"codes8/32 f16 64x32", IsaLevel::kAvx512, IsaLevel::kAvx512}));
}

TEST(MeasureChoicesTest, WhatTheTimeDoesNotReachGetsTheHighestLevel) {
  const Candidates candidates;
  const std::vector<MatrixShape> shapes = {{kBF16, 64, 32}, {kInt8, 64, 32}};
  double now = 0;
  int calls = 0;
  const LinearTimer timer = [&](const Ops& ops, const MatrixShape&, int64_t) -> Result<double> {
    ++calls;
    now += 0.1;
    return ops.level == IsaLevel::kAvx2 ? 1.0 : 2.0;
  };
  const auto choices = MeasureChoices(shapes, candidates.list, timer, 0.15, [&now] { return now; });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(choices[0].few, IsaLevel::kAvx2);
  EXPECT_EQ(choices[0].many, IsaLevel::kAvx512);
  EXPECT_EQ(choices[1].few, IsaLevel::kAvx512);
}

TEST(ChoiceTextTest, WhatIsWrittenIsReadAndDamageIsRefused) {
  const ChoiceRecord record = SomeRecord();
  const std::string text = FormatChoices(record);
  const Result<ChoiceRecord> again = ParseChoices(text);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(again->facts, record.facts);
  EXPECT_EQ(again->choices, record.choices);
  EXPECT_EQ(again->model, record.model);
  for (size_t length = 0; length + 2 < text.size(); length += 7) {
    EXPECT_FALSE(ParseChoices(text.substr(0, length)).ok()) << length;
  }
  EXPECT_FALSE(ParseChoices("[]").ok());
  EXPECT_FALSE(ParseChoices(R"({"cpu": 5})").ok());
  std::string unknown = text;
  unknown.replace(unknown.find("avx512"), 6, "avx999");
  EXPECT_FALSE(ParseChoices(unknown).ok());
}

using ChooseOpsTest = FolderTest;

TEST_F(ChooseOpsTest, IsWrittenOnceAndMeasuredAnewWhereItDoesNotFit) {
  ThreadPool pool(MakeThreadPoolOptions(Topology(), 1));
  const ChoiceFacts facts = CurrentFacts(1);
  if (facts.candidates.size() < 2) GTEST_SKIP() << "this CPU has one level only: nothing to choose";
  const std::vector<MatrixShape> shapes = {{kBF16, 64, 64}, {kInt8, 48, 96}};
  const std::string path = ChoicePath(folder_ + "/new", facts, shapes);
  const auto choose = [&] { return ChooseOps(shapes, "m", folder_ + "/new", &pool); };
  const Ops* ops = choose();
  EXPECT_EQ(ops->level, facts.candidates.back());
  const std::string first = ReadFile(path, 1 << 20).value();
  EXPECT_EQ(ListChoices(folder_ + "/new").size(), 1U);

  // It is used as it is: a mark in it stays.
  ChoiceRecord marked = ParseChoices(first).value();
  marked.model = "marked";
  ASSERT_TRUE(WriteFileAtomically(path, FormatChoices(marked)).ok());
  choose();
  EXPECT_EQ(ParseChoices(ReadFile(path, 1 << 20).value())->model, "marked");

  for (int wrong = 0; wrong < 4; ++wrong) {
    ChoiceRecord other = marked;
    if (wrong == 0) other.facts.cpu = "another CPU";
    if (wrong == 1) other.facts.build = "another build";
    if (wrong == 2) other.choices.pop_back();
    if (wrong == 3) other.choices[0].few = IsaLevel::kRef;  // never a candidate
    ASSERT_TRUE(WriteFileAtomically(path, FormatChoices(other)).ok());
    choose();
    EXPECT_EQ(ParseChoices(ReadFile(path, 1 << 20).value())->model, "m") << wrong;
  }
  std::ofstream(path) << "{ not a choice";
  choose();
  EXPECT_EQ(ParseChoices(ReadFile(path, 1 << 20).value())->model, "m");
}

TEST_F(ChooseOpsTest, AFolderThatCannotBeWrittenDoesNotStopAStart) {
  ThreadPool pool(MakeThreadPoolOptions(Topology(), 1));
  std::ofstream(folder_ + "/file") << "in the way";
  const std::vector<MatrixShape> shapes = {{kBF16, 64, 64}};
  EXPECT_NE(ChooseOps(shapes, "m", folder_ + "/file/below", &pool), nullptr);
}

// The chosen table computes what the reference does, for shapes that it knows and others.
TEST_F(ChooseOpsTest, TheTableEqualsTheReference) {
  ThreadPool pool(MakeThreadPoolOptions(Topology(), 1));
  const std::vector<MatrixShape> shapes = {{kBF16, 37, 96}};
  const Ops* ops = ChooseOps(shapes, "m", folder_, &pool);
  const Status status = CheckAgainstReference(*ops);
  EXPECT_TRUE(status.ok()) << status.message();
}

TEST(SelfCheckTest, EveryLevelOfThisCpuPassesAndAWrongOneIsNamed) {
  for (const IsaLevel level : AvailableLevels()) {
    if (level == IsaLevel::kAmx) continue;  // says so itself, at start
    const Status status = CheckAgainstReference(*FindOps(level));
    EXPECT_TRUE(status.ok()) << NameOf(level) << ": " << status.message();
  }
  Ops broken = BestOps();
  broken.linear[static_cast<size_t>(Packing::kF16)] = [](const PackedLinear&, const Activation&, IndexRange,
                                                         IndexRange, const float*, float*, int64_t) {};
  EXPECT_THAT(CheckAgainstReference(broken).message(), testing::HasSubstr("F16 weights"));
}

}  // namespace
}  // namespace firebrick
