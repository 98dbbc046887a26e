#include "cli/model_path.h"

#include <cstdlib>
#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"

namespace firebrick {
namespace {

class ModelPath : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("firebrick_model_path_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    setenv("XDG_CACHE_HOME", folder_.c_str(), 1);
    for (const char* name : {"HF_HOME", "HF_HUB_CACHE"}) unsetenv(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::filesystem::path folder_;
};

TEST_F(ModelPath, DefaultModelIsUnderTheCacheFolder) {
  const Result<std::string> absent = ResolveModelPath("");
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  EXPECT_NE(absent.status().message().find("scripts/fetch-models"), std::string::npos);

  const std::string path = folder_ / "firebrick/models/smollm2-135m-instruct-q4_1.gguf";
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  ASSERT_TRUE(WriteFileAtomically(path, "x").ok());
  EXPECT_EQ(ResolveModelPath("").value(), path);
}

TEST_F(ModelPath, HubNameIsTheSnapshotThatMainNames) {
  const Result<std::string> absent = ResolveModelPath("org/name");
  EXPECT_EQ(absent.status().code(), StatusCode::kNotFound);
  EXPECT_NE(absent.status().message().find("firebrick pull org/name"), std::string::npos);

  const std::filesystem::path model = folder_ / "huggingface/hub/models--org--name";
  std::filesystem::create_directories(model / "snapshots/abc");
  std::filesystem::create_directories(model / "refs");
  ASSERT_TRUE(WriteFileAtomically(model / "refs/main", "abc").ok());
  EXPECT_EQ(ResolveModelPath("org/name").value(), model / "snapshots/abc");
  ASSERT_TRUE(WriteFileAtomically(model / "refs/main", "..").ok());
  EXPECT_FALSE(ResolveModelPath("org/name").ok());
}

TEST_F(ModelPath, AFileComesFirstAndAMissingOneIsNamed) {
  EXPECT_EQ(ResolveModelPath(folder_).value(), folder_);
  const Result<std::string> missing = ResolveModelPath("models/none.gguf");
  EXPECT_EQ(missing.status().code(), StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("models/none.gguf"), std::string::npos);
}

}  // namespace
}  // namespace firebrick
