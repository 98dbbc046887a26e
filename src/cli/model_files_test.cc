// inspect and make-model, through their functions.
#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "cli/inspect.h"
#include "cli/make_model.h"

namespace firebrick {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(ModelFiles, WhatMakeModelWritesInspectShows) {
  const auto path = std::filesystem::temp_directory_path() / fmt::format("firebrick-cli-{}.gguf", ::getpid());
  MakeModelOptions make{.shape = "tiny-gemma3", .out = path.string(), .type = "q4_0"};
  std::ostringstream made;
  ASSERT_TRUE(MakeModel(make, made).ok());
  EXPECT_THAT(made.str(), HasSubstr("93 tensors, 4.4 M parameters"));

  std::ostringstream table;
  ASSERT_TRUE(Inspect({.path = path.string()}, table).ok());
  EXPECT_THAT(table.str(), AllOf(HasSubstr("architecture  gemma3"), HasSubstr("1024 x ["),
                                 HasSubstr("blk.6.post_ffw_norm.weight"), HasSubstr("4.50")));
  std::ostringstream summary;
  ASSERT_TRUE(Inspect({.path = path.string(), .tensors = false}, summary).ok());
  EXPECT_THAT(summary.str(), Not(HasSubstr("post_ffw_norm")));

  std::ostringstream text;
  ASSERT_TRUE(Inspect({.path = path.string(), .json = true}, text).ok());
  const Json json = Json::parse(text.str());
  EXPECT_EQ(json["architecture"], "gemma3");
  EXPECT_EQ(json["tensors"].size(), 93U);
  EXPECT_EQ(json["types"]["q4_0"]["tensors"], 50);
  EXPECT_EQ(json["metadata"]["tokenizer.ggml.tokens"]["count"], 1024);
  EXPECT_EQ(json["tensors"][0]["shape"], Json({1024, 256}));
  std::filesystem::remove(path);
}

TEST(ModelFiles, WrongNamesListTheRightOnes) {
  std::ostringstream out;
  EXPECT_THAT(MakeModel({.shape = "llama-2b", .out = "x"}, out).message(), HasSubstr("llama-1b"));
  EXPECT_THAT(MakeModel({.shape = "tiny-llama", .out = "x", .type = "q9"}, out).message(), HasSubstr("q8_0"));
  EXPECT_THAT(
      MakeModel({.shape = "tiny-llama", .out = "x.safetensors", .format = "safetensors"}, out).message(),
      HasSubstr("OUT is a folder"));
  EXPECT_EQ(Inspect({.path = "/no/such/model"}, out).code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace firebrick
