// Synthetic models: what is written opens, is the same for any number of threads, and is normally
// distributed.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"
#include "weights/checkpoint.h"
#include "weights/expand.h"
#include "weights/synthetic/normal.h"
#include "weights/synthetic/tokenizer.h"
#include "weights/synthetic/write_model.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class SyntheticTest : public testing::Test {
 protected:
  SyntheticTest() : folder_(fs::temp_directory_path() / fmt::format("firebrick-synthetic-{}", ::getpid())) {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~SyntheticTest() override { fs::remove_all(folder_); }

  SyntheticModel Model(std::string_view shape, WeightType type,
                       CheckpointKind kind = CheckpointKind::kGguf) const {
    SyntheticModel model;
    model.shape = FindModelShape(shape);
    model.type = type;
    model.kind = kind;
    model.path = (folder_ / (kind == CheckpointKind::kGguf ? "m.gguf" : "m")).string();
    return model;
  }
  static std::string BytesOf(const SyntheticModel& model) {
    const Result<SyntheticModelReport> report = WriteSyntheticModel(model);
    EXPECT_TRUE(report.ok()) << report.status().ToString();
    return ReadFile(report->weights_path, 1 << 30).value();
  }

  fs::path folder_;
};

TEST_F(SyntheticTest, EveryTinyShapeOpensInBothFormats) {
  for (const ModelShape& shape : ModelShapes()) {
    if (!shape.name.starts_with("tiny-")) continue;
    for (const CheckpointKind kind : {CheckpointKind::kGguf, CheckpointKind::kSafetensors}) {
      const SyntheticModel model = Model(shape.name, WeightType::kBF16, kind);
      const Result<SyntheticModelReport> report = WriteSyntheticModel(model);
      ASSERT_TRUE(report.ok()) << report.status().ToString();
      const Result<Checkpoint> opened = Checkpoint::Open(model.path);
      ASSERT_TRUE(opened.ok()) << opened.status().ToString();
      EXPECT_EQ(opened->tensors().size(), report->num_tensors);
      EXPECT_EQ(opened->files()[0].bytes().size(), report->file_bytes);
      fs::remove_all(model.path);
    }
  }
}

TEST_F(SyntheticTest, EveryWeightTypeHoldsTheSameWeights) {
  BytesOf(Model("tiny-llama", WeightType::kF32));
  const Checkpoint reference = Checkpoint::Open((folder_ / "m.gguf").string()).value();
  const RawTensor& wanted = *reference.FindTensor("blk.0.ffn_down.weight");
  const auto* values = reinterpret_cast<const float*>(wanted.data.data());
  fs::rename(folder_ / "m.gguf", folder_ / "reference");
  for (int i = 0; i <= static_cast<int>(WeightType::kIQ4_XS); ++i) {
    const auto type = static_cast<WeightType>(i);
    BytesOf(Model("tiny-llama", type));
    const Checkpoint written = Checkpoint::Open((folder_ / "m.gguf").string()).value();
    const RawTensor& tensor = *written.FindTensor(wanted.name);
    EXPECT_EQ(tensor.type, type);
    std::vector<float> row(static_cast<size_t>(tensor.cols()));
    DequantizeRows(type, tensor.data.data(), tensor.cols(), 3, 1, row.data());
    double error = 0;
    double power = 0;
    for (size_t c = 0; c < row.size(); ++c) {
      const double value = values[3 * row.size() + c];
      error += (row[c] - value) * (row[c] - value);
      power += value * value;
    }
    EXPECT_LT(error, 0.25 * power) << InfoOf(type).name;
  }
}

TEST_F(SyntheticTest, BytesDependOnTheSeedAndNotOnThreads) {
  SyntheticModel model = Model("tiny-qwen3", WeightType::kQ8_0);
  model.num_threads = 1;
  const std::string one = BytesOf(model);
  model.num_threads = 3;
  EXPECT_EQ(BytesOf(model), one);
  model.seed = 1;
  const std::string other = BytesOf(model);
  EXPECT_EQ(other.size(), one.size());
  EXPECT_NE(other, one);
}

TEST_F(SyntheticTest, FallbacksAreReported) {
  SyntheticModel model = Model("tiny-llama", WeightType::kQ4_K);
  EXPECT_TRUE(WriteSyntheticModel(model)->fallbacks.empty());
  ModelShape narrow = *model.shape;
  narrow.hidden = 192;
  model.shape = &narrow;
  const Result<SyntheticModelReport> report = WriteSyntheticModel(model);
  ASSERT_EQ(report->fallbacks.size(), 1U);
  EXPECT_THAT(report->fallbacks[0], HasSubstr("q5_0 for 21 tensors: their rows of 192 columns"));
  EXPECT_EQ(Checkpoint::Open(model.path)->FindTensor("blk.0.ffn_down.weight")->type, WeightType::kQ4_K);
}

TEST_F(SyntheticTest, QuantisedSafetensorsAreRefused) {
  const Result<SyntheticModelReport> report =
      WriteSyntheticModel(Model("tiny-llama", WeightType::kQ4_0, CheckpointKind::kSafetensors));
  EXPECT_THAT(report.status().message(), HasSubstr("safetensors cannot hold q4_0"));
}

TEST_F(SyntheticTest, ACopiedTokenizerLandsInBothFormats) {
  ASSERT_TRUE(WriteFileAtomically((folder_ / "tokenizer.json").string(),
                                  R"({"model":{"type":"BPE","vocab":{"a":0,"b":1,"ab":2},"merges":["a b"]},)"
                                  R"("added_tokens":[{"id":3,"content":"<end>","special":true}]})")
                  .ok());
  ASSERT_TRUE(WriteFileAtomically((folder_ / "tokenizer_config.json").string(),
                                  R"({"eos_token":{"content":"<end>"}})")
                  .ok());
  SyntheticModel model = Model("tiny-llama", WeightType::kQ8_0);
  model.tokenizer = folder_.string();
  BytesOf(model);
  const Checkpoint opened = Checkpoint::Open(model.path).value();
  const auto& tokens = std::get<std::vector<std::string>>(*opened.FindMetadata("tokenizer.ggml.tokens"));
  ASSERT_EQ(tokens.size(), 1024U);
  EXPECT_EQ(tokens[2], "ab");
  EXPECT_EQ(tokens[3], "<end>");
  EXPECT_EQ(std::get<uint64_t>(*opened.FindMetadata("tokenizer.ggml.eos_token_id")), 3U);
  ASSERT_NE(opened.FindMetadata("tokenizer.huggingface.json"), nullptr);
  EXPECT_THAT(CopyTokenizer(folder_.string(), 3).status().message(),
              HasSubstr("outside of this shape's 3 tokens"));
  EXPECT_THAT(CopyTokenizer("t.json.xz", 3).status().message(), HasSubstr("unpack it first"));
  EXPECT_EQ(CopyTokenizer((folder_ / "none.json").string(), 3).status().code(), StatusCode::kNotFound);
}

TEST(SyntheticTokenizer, HasExactlyTheVocabularyAndAMergeForEachWord) {
  for (const int64_t vocab : {260, 1024, 20000}) {
    const TokenizerFiles files = MakeSyntheticTokenizer(vocab);
    size_t num_tokens = 0;
    size_t num_merges = 0;
    for (const auto& [key, value] : files.gguf) {
      if (key == "tokenizer.ggml.tokens") num_tokens = std::get<std::vector<std::string>>(value).size();
      if (key == "tokenizer.ggml.merges") num_merges = std::get<std::vector<std::string>>(value).size();
    }
    EXPECT_EQ(num_tokens, static_cast<size_t>(vocab));
    EXPECT_EQ(num_merges, static_cast<size_t>(vocab - 260));
    const auto json = nlohmann::json::parse(files.tokenizer_json);
    EXPECT_EQ(json["model"]["vocab"].size(), static_cast<size_t>(vocab));  // no token twice
    EXPECT_EQ(json["model"]["merges"].size(), num_merges);
  }
}

TEST(FillNormal, IsNormalAndAFunctionOfThePosition) {
  constexpr size_t kCount = 1 << 20;
  std::vector<float> values(kCount);
  const uint64_t key = NormalStreamKey(1, "w");
  FillNormal(key, 0, 2.0F, values);
  double moments[5] = {};
  for (const float value : values) {
    double power = 1;
    for (double& moment : moments) {
      moment += power / kCount;
      power *= value / 2.0;
    }
  }
  EXPECT_NEAR(moments[1], 0, 0.01);
  EXPECT_NEAR(moments[2], 1, 0.01);
  EXPECT_NEAR(moments[3], 0, 0.03);
  EXPECT_NEAR(moments[4], 3, 0.06);
  double neighbours = 0;
  for (size_t i = 1; i < kCount; ++i) neighbours += values[i] * values[i - 1] / 4.0 / kCount;
  EXPECT_NEAR(neighbours, 0, 0.01);
  std::vector<float> part(100);
  FillNormal(key, 777, 2.0F, part);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), values.begin() + 777));
  FillNormal(NormalStreamKey(1, "v"), 777, 2.0F, part);
  EXPECT_FALSE(std::equal(part.begin(), part.end(), values.begin() + 777));
}

}  // namespace
}  // namespace firebrick
