// Checkpoint::Open over files on disk: single files, split sets, folders, and what is wrong with them.
#include "weights/checkpoint.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "weights/file_layout.h"
#include "weights/file_writer.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

class CheckpointTest : public testing::Test {
 protected:
  CheckpointTest() {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / fmt::format("firebrick-{}-{}", test->name(), ::getpid());
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  ~CheckpointTest() override { fs::remove_all(folder_); }

  std::string Path(const std::string& name) const { return (folder_ / name).string(); }

  // Writes tensors of two F32 values each, whose first value is `value`.
  void Write(const std::string& name, const FileLayout& layout, size_t num_tensors, float value) const {
    Result<FileWriter> writer = FileWriter::Create(Path(name), layout);
    ASSERT_TRUE(writer.ok()) << writer.status().ToString();
    const float values[2] = {value, -1};
    for (size_t i = 0; i < num_tensors; ++i) {
      ASSERT_TRUE(writer->WriteAt(layout.offsets[i], std::as_bytes(std::span(values))).ok());
    }
    ASSERT_TRUE(writer->Finish().ok());
  }
  static std::vector<TensorSpec> Specs(const std::vector<std::string>& names) {
    std::vector<TensorSpec> specs;
    for (const std::string& name : names) specs.push_back({name, WeightType::kF32, {1, 2}});
    return specs;
  }
  void WriteGguf(const std::string& name, const std::vector<std::string>& tensors,
                 const GgufMetadata& metadata = {}, float value = 1) const {
    Write(name, LayOutGguf(metadata, Specs(tensors)).value(), tensors.size(), value);
  }
  void WriteSafetensors(const std::string& name, const std::vector<std::string>& tensors,
                        float value = 1) const {
    Write(name, LayOutSafetensors(Specs(tensors)).value(), tensors.size(), value);
  }
  void WriteText(const std::string& name, const std::string& text) const {
    ASSERT_TRUE(WriteFileAtomically(Path(name), text).ok());
  }
  static GgufMetadata Shard(uint32_t index, uint32_t count, uint32_t tensors) {
    return {{"split.no", index}, {"split.count", count}, {"split.tensors.count", tensors}};
  }
  std::string ErrorOf(const std::string& name) const {
    const Result<Checkpoint> opened = Checkpoint::Open(name.empty() ? folder_.string() : Path(name));
    return opened.ok() ? "no error" : opened.status().ToString();
  }

  fs::path folder_;
};

float FirstValue(const RawTensor& tensor) {
  float value = 0;
  std::memcpy(&value, tensor.data.data(), sizeof(value));
  return value;
}

TEST_F(CheckpointTest, FindsTensorsAndMetadata) {
  WriteGguf("m.gguf", {"b", "a"}, {{"general.architecture", "llama"}}, 7);
  const Result<Checkpoint> opened = Checkpoint::Open(Path("m.gguf"));
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(opened->kind(), CheckpointKind::kGguf);
  ASSERT_NE(opened->FindTensor("a"), nullptr);
  EXPECT_EQ(FirstValue(*opened->FindTensor("a")), 7);
  EXPECT_EQ(opened->FindTensor("c"), nullptr);
  EXPECT_EQ(opened->tensors()[0].name, "b");  // file order
  ASSERT_NE(opened->FindMetadata("general.architecture"), nullptr);
  EXPECT_EQ(opened->FindMetadata("none"), nullptr);
  Result<Checkpoint> by_folder = Checkpoint::Open(folder_.string());
  ASSERT_TRUE(by_folder.ok());
  const Checkpoint moved = std::move(by_folder).value();
  EXPECT_EQ(FirstValue(*moved.FindTensor("b")), 7);
}

TEST_F(CheckpointTest, AnyShardOpensTheSet) {
  WriteGguf("s-00001-of-00003.gguf", {"a", "b"}, Shard(0, 3, 4), 1);
  WriteGguf("s-00002-of-00003.gguf", {"c"}, Shard(1, 3, 4), 2);
  WriteGguf("s-00003-of-00003.gguf", {"d"}, Shard(2, 3, 4), 3);
  for (const char* name : {"s-00001-of-00003.gguf", "s-00002-of-00003.gguf", "s-00003-of-00003.gguf", ""}) {
    const Result<Checkpoint> opened = Checkpoint::Open(*name == 0 ? folder_.string() : Path(name));
    ASSERT_TRUE(opened.ok()) << opened.status().ToString();
    EXPECT_EQ(opened->tensors().size(), 4U);
    EXPECT_EQ(opened->files().size(), 3U);
    EXPECT_EQ(FirstValue(*opened->FindTensor("d")), 3);
    EXPECT_EQ(opened->FindTensor("d")->file_index, 2U);
  }
}

TEST_F(CheckpointTest, BrokenShardSetsAreRefused) {
  const std::string first = "s-00001-of-00002.gguf";
  const std::string second = "s-00002-of-00002.gguf";
  WriteGguf(first, {"a"}, Shard(0, 2, 2));
  EXPECT_THAT(ErrorOf(first), AllOf(HasSubstr("shard 2 of 2"), HasSubstr("s-00002-of-00002.gguf")));
  WriteGguf(second, {"b"}, Shard(0, 2, 2));
  EXPECT_THAT(ErrorOf(first), HasSubstr("mixed up"));
  WriteGguf(second, {"b"}, Shard(1, 3, 2));
  EXPECT_THAT(ErrorOf(first), HasSubstr("mixed up"));
  WriteGguf(second, {"a"}, Shard(1, 2, 2));
  EXPECT_THAT(ErrorOf(first), AllOf(HasSubstr("'a' is there twice"), HasSubstr("s-00002")));
  WriteGguf(second, {"b", "c"}, Shard(1, 2, 2));
  EXPECT_THAT(ErrorOf(first), HasSubstr("split.tensors.count says 2"));
  WriteGguf("renamed.gguf", {"a"}, Shard(0, 2, 2));
  EXPECT_THAT(ErrorOf("renamed.gguf"), HasSubstr("NAME-00001-of-00002.gguf"));
}

TEST_F(CheckpointTest, AFileMerelyNamedLikeAShardOpens) {
  WriteGguf("m-00001-of-00002.gguf", {"a"});
  EXPECT_EQ(ErrorOf("m-00001-of-00002.gguf"), "no error");
}

TEST_F(CheckpointTest, ReadsAModelFolder) {
  WriteSafetensors("model.safetensors", {"a", "b"}, 5);
  WriteText("config.json", R"({"model_type":"llama"})");
  const Result<Checkpoint> opened = Checkpoint::Open(folder_.string());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(opened->kind(), CheckpointKind::kSafetensors);
  EXPECT_EQ(opened->config()["model_type"], "llama");
  EXPECT_TRUE(opened->generation_config().is_null());
  EXPECT_EQ(opened->folder(), folder_.string());
  EXPECT_EQ(FirstValue(*opened->FindTensor("b")), 5);
  EXPECT_EQ(ErrorOf("model.safetensors"), "no error");
}

TEST_F(CheckpointTest, ReadsShardedFolders) {
  WriteSafetensors("x-1.safetensors", {"a", "b"}, 1);
  WriteSafetensors("x-2.safetensors", {"c"}, 2);
  const std::string index = "model.safetensors.index.json";
  const auto write_map = [&](const std::string& map) { WriteText(index, R"({"weight_map":)" + map + "}"); };
  write_map(R"({"a":"x-1.safetensors","b":"x-1.safetensors","c":"x-2.safetensors"})");
  const Result<Checkpoint> opened = Checkpoint::Open(folder_.string());
  ASSERT_TRUE(opened.ok()) << opened.status().ToString();
  EXPECT_EQ(FirstValue(*opened->FindTensor("c")), 2);
  EXPECT_EQ(ErrorOf(index), "no error");
  write_map(R"({"a":"x-1.safetensors","c":"x-2.safetensors"})");
  EXPECT_THAT(ErrorOf(""), HasSubstr("does not name tensor 'b'"));
  write_map(R"({"a":"x-1.safetensors","b":"x-2.safetensors","c":"x-2.safetensors"})");
  EXPECT_THAT(ErrorOf(""), AllOf(HasSubstr("'b'"), HasSubstr("but it does not")));
  write_map(R"({"a":"x-1.safetensors","b":"x-1.safetensors","c":"x-3.safetensors"})");
  EXPECT_THAT(ErrorOf(""), AllOf(HasSubstr("x-3.safetensors"), HasSubstr("not there")));
  WriteSafetensors("x-2.safetensors", {"a", "c"}, 2);
  write_map(R"({"a":"x-1.safetensors","b":"x-1.safetensors","c":"x-2.safetensors"})");
  EXPECT_THAT(ErrorOf(""), HasSubstr("'a' is there twice"));
}

TEST_F(CheckpointTest, OtherThingsAreRefusedWithARemedy) {
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no model"));
  EXPECT_THAT(ErrorOf("missing.gguf"), HasSubstr("not_found"));
  WriteText("pytorch_model.bin", "x");
  EXPECT_THAT(ErrorOf("pytorch_model.bin"), HasSubstr("pickle"));
  WriteText("notes.txt", "hello");
  EXPECT_THAT(ErrorOf("notes.txt"), HasSubstr("no GGUF file"));
  WriteText("empty.gguf", "");
  EXPECT_THAT(ErrorOf("empty.gguf"), HasSubstr("empty"));
  WriteGguf("m.gguf", {"a"});
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds 2 GGUF models"));
  WriteSafetensors("model.safetensors", {"a"});
  WriteText("config.json", "[]");
  EXPECT_THAT(ErrorOf(""), HasSubstr("does not hold a JSON object"));
  WriteText("config.json", R"({"quantization_config":{"quant_method":"gptq"}})");
  EXPECT_THAT(ErrorOf(""), HasSubstr("quantised by 'gptq'"));
}

TEST_F(CheckpointTest, AnUnfinishedFileLeavesNothing) {
  {
    const FileLayout layout = LayOutGguf({}, Specs({"a"})).value();
    Result<FileWriter> writer = FileWriter::Create(Path("m.gguf"), layout);
    ASSERT_TRUE(writer.ok());
    EXPECT_TRUE(fs::exists(Path("m.gguf.part")));
    EXPECT_FALSE(fs::exists(Path("m.gguf")));
  }
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_FALSE(FileWriter::Create(Path("no/such/folder.gguf"), FileLayout{}).ok());
}

TEST_F(CheckpointTest, LayoutsRefuseWhatReadersRefuse) {
  const auto gguf = [](TensorSpec spec) {
    return LayOutGguf({}, std::vector{std::move(spec)}).status().ToString();
  };
  EXPECT_THAT(gguf({"w", WeightType::kQ4_K, {2, 128}}), HasSubstr("multiple of 256"));
  EXPECT_THAT(gguf({"w", WeightType::kF32, {0}}), HasSubstr("cannot be written"));
  EXPECT_THAT(gguf({std::string(64, 'w'), WeightType::kF32, {1}}), HasSubstr("tensor's name"));
  EXPECT_THAT(LayOutGguf({}, Specs({"a", "a"})).status().ToString(), HasSubstr("listed twice"));
  const std::vector<TensorSpec> quantised = {{"w", WeightType::kQ8_0, {1, 32}}};
  EXPECT_THAT(LayOutSafetensors(quantised).status().ToString(), HasSubstr("cannot hold q8_0"));
}

}  // namespace
}  // namespace firebrick
