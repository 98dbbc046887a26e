#include "text/template_source.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "base/file.h"

namespace firebrick {
namespace {

class TemplateSourceTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("firebrick_template_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  void Write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories((folder_ / name).parent_path());
    ASSERT_TRUE(WriteFileAtomically(folder_ / name, text).ok());
  }
  Result<TemplateSource> Find(std::string_view name = {}) { return FindTemplateInFolder(folder_, name); }

  std::filesystem::path folder_;
};

TEST_F(TemplateSourceTest, TheMostSpecificSourceWins) {
  EXPECT_EQ(Find().status().code(), StatusCode::kNotFound);
  EXPECT_NE(Find().status().message().find("base model"), std::string::npos);
  Write("tokenizer_config.json",
        R"({"chat_template": "config", "bos_token": "<s>", "eos_token": {"content": "</s>"}})");
  EXPECT_EQ(Find()->text, "config");
  EXPECT_EQ(Find()->bos_token, "<s>");
  EXPECT_EQ(Find()->eos_token, "</s>");
  Write("chat_template.json", R"({"chat_template": "file"})");
  EXPECT_EQ(Find()->text, "file");
  Write("chat_template.jinja", "jinja\n");
  EXPECT_EQ(Find()->text, "jinja\n");
  EXPECT_EQ(Find()->origin, "chat_template.jinja");
  EXPECT_EQ(Find()->bos_token, "<s>");
  Write("additional_chat_templates/tool_use.jinja", "tools");
  EXPECT_EQ(Find("tool_use")->text, "tools");
  EXPECT_EQ(Find("../chat_template")->text, "jinja\n");
}

TEST_F(TemplateSourceTest, OneOfSeveralNamedTemplates) {
  Write(
      "tokenizer_config.json",
      R"({"chat_template": [{"name": "default", "template": "d"}, {"name": "tool_use", "template": "t"}]})");
  EXPECT_EQ(Find()->text, "d");
  EXPECT_EQ(Find("tool_use")->text, "t");
  EXPECT_EQ(Find("rag")->text, "d");
  EXPECT_FALSE(Find()->bos_token.has_value());
}

TEST_F(TemplateSourceTest, DamagedFilesAreNamed) {
  Write("tokenizer_config.json", "{");
  EXPECT_NE(Find().status().message().find("tokenizer_config.json"), std::string::npos);
  Write("tokenizer_config.json", R"({"chat_template": 3, "bos_token": null})");
  EXPECT_EQ(Find().status().code(), StatusCode::kNotFound);
}

}  // namespace
}  // namespace firebrick
