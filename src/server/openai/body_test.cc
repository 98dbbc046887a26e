#include "server/openai/body.h"

#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace firebrick {
namespace {

constexpr std::string_view kMessages = R"("messages":[{"role":"user","content":"hi"}])";

std::string ChatText(std::string_view more) {
  return fmt::format("{{{}{}{}}}", kMessages, more.empty() ? "" : ",", more);
}
std::optional<ApiError> Chat(std::string_view more, ChatBody* out) {
  return ParseChatBody(ChatText(more), BodyLimits{}, out);
}
std::optional<ApiError> Completion(std::string_view text, CompletionBody* out) {
  return ParseCompletionBody(text, BodyLimits{}, out);
}

TEST(ChatBody, EveryHonouredFieldArrives) {
  ChatBody body;
  const auto error = Chat(
      R"("model":"m","temperature":0.5,"top_p":0.9,"min_p":0.1,"top_k":5,"repetition_penalty":1.1,"presence_penalty":-1,)"
      R"("frequency_penalty":2,"seed":-7,"n":3,"max_tokens":9,"max_completion_tokens":8,"min_tokens":2,"ignore_eos":true,)"
      R"("include_stop_str_in_output":true,"skip_special_tokens":false,"stop":["a","bc"],"stop_token_ids":[1,2],)"
      R"("logit_bias":{"5":-100,"6":1.5},"allowed_token_ids":[3],"logprobs":true,"top_logprobs":4,"stream":true,)"
      R"("stream_options":{"include_usage":true},"cache_salt":"s","priority":-3,"chat_template_kwargs":{"a":[1,{"b":null}]},)"
      R"("add_generation_prompt":false,"continue_final_message":true)",
      &body);
  ASSERT_FALSE(error.has_value()) << error->message;
  const GenerationFields& fields = body.fields;
  EXPECT_EQ(fields.model, "m");
  EXPECT_EQ(fields.temperature, 0.5);
  EXPECT_EQ(fields.top_p, 0.9);
  EXPECT_EQ(fields.min_p, 0.1);
  EXPECT_EQ(fields.top_k, 5);
  EXPECT_EQ(fields.repetition_penalty, 1.1);
  EXPECT_EQ(fields.presence_penalty, -1);
  EXPECT_EQ(fields.frequency_penalty, 2);
  EXPECT_EQ(fields.seed, static_cast<uint64_t>(-7));
  EXPECT_EQ(fields.n, 3);
  EXPECT_EQ(fields.max_tokens, 8);  // the newer name wins
  EXPECT_EQ(fields.min_tokens, 2);
  EXPECT_TRUE(fields.ignore_eos);
  EXPECT_TRUE(fields.include_stop);
  EXPECT_FALSE(fields.skip_special_tokens);
  EXPECT_EQ(fields.stop, (std::vector<std::string>{"a", "bc"}));
  EXPECT_EQ(fields.stop_token_ids, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(fields.logit_bias, (std::vector<std::pair<int32_t, float>>{{5, -100.0F}, {6, 1.5F}}));
  EXPECT_EQ(fields.allowed_token_ids, std::vector<int32_t>{3});
  EXPECT_EQ(fields.num_logprobs, 4);
  EXPECT_TRUE(fields.stream);
  EXPECT_TRUE(fields.include_usage);
  EXPECT_EQ(fields.cache_salt, "s");
  EXPECT_EQ(fields.priority, -3);
  EXPECT_EQ(body.template_kwargs.dump(), R"({"a":[1,{"b":null}]})");
  EXPECT_EQ(body.add_generation_prompt, false);
  EXPECT_TRUE(body.continue_final_message);
}

TEST(ChatBody, DefaultsAndNullsAreAbsent) {
  ChatBody body;
  ASSERT_FALSE(
      Chat(R"("temperature":null,"stop":null,"tools":null,"max_tokens":null,"logprobs":null)", &body));
  EXPECT_FALSE(body.fields.temperature.has_value());
  EXPECT_FALSE(body.fields.max_tokens.has_value());
  EXPECT_EQ(body.fields.n, 1);
  EXPECT_EQ(body.fields.num_logprobs, -1);
  EXPECT_TRUE(body.fields.skip_special_tokens);
}

TEST(ChatBody, LogprobsWithoutTopIsTheChosenTokenAlone) {
  ChatBody body;
  ASSERT_FALSE(Chat(R"("logprobs":true)", &body));
  EXPECT_EQ(body.fields.num_logprobs, 0);
}

TEST(ChatBody, PartsAreJoinedAndRolesMapped) {
  ChatBody body;
  const auto error = ParseChatBody(
      R"({"messages":[{"role":"developer","content":"d"},{"role":"user","content":[{"type":"text","text":"a"},)"
      R"({"type":"text","text":"b"}],"name":"n"},{"role":"assistant","content":null,"refusal":null,"tool_calls":[]}]})",
      BodyLimits{}, &body);
  ASSERT_FALSE(error.has_value()) << error->message;
  EXPECT_EQ(
      body.messages.dump(),
      R"([{"role":"system","content":"d"},{"role":"user","content":"a\nb","name":"n"},{"role":"assistant","content":""}])");
}

TEST(ChatBody, WhatAsksForNothingIsTaken) {
  ChatBody body;
  const auto error = Chat(
      R"("tools":[],"tool_choice":"auto","parallel_tool_calls":true,"response_format":{"type":"text"},"store":false,)"
      R"("modalities":["text"],"user":"u","metadata":{"a":"b"},"service_tier":"auto","prompt_cache_key":"k")",
      &body);
  EXPECT_FALSE(error.has_value()) << error->message;
}

struct BadCase {
  const char* more;
  const char* param;
};

class ChatBodyRefusals : public ::testing::TestWithParam<BadCase> {};

TEST_P(ChatBodyRefusals, NameTheField) {
  ChatBody body;
  const auto error = Chat(GetParam().more, &body);
  ASSERT_TRUE(error.has_value()) << GetParam().more;
  EXPECT_EQ(error->status, 400);
  EXPECT_EQ(error->param, GetParam().param) << error->message;
  EXPECT_FALSE(error->message.empty());
  EXPECT_LT(error->ToJson().size(), 1000U);
}

INSTANTIATE_TEST_SUITE_P(
    All, ChatBodyRefusals,
    ::testing::Values(
        BadCase{R"("temperature":-1)", "temperature"}, BadCase{R"("temperature":"1")", "temperature"},
        BadCase{R"("temperature":true)", "temperature"}, BadCase{R"("temperature":[])", "temperature"},
        BadCase{R"("temperature":1e308)", "temperature"}, BadCase{R"("top_p":1.1)", "top_p"},
        BadCase{R"("min_p":1.5)", "min_p"}, BadCase{R"("top_k":-2)", "top_k"},
        BadCase{R"("top_k":1.5)", "top_k"}, BadCase{R"("top_k":9223372036854775808)", "top_k"},
        BadCase{R"("n":0)", "n"}, BadCase{R"("n":129)", "n"}, BadCase{R"("n":"2")", "n"},
        BadCase{R"("n":{})", "n"}, BadCase{R"("max_tokens":0)", "max_tokens"},
        BadCase{R"("max_tokens":-1)", "max_tokens"}, BadCase{R"("max_tokens":2147483648)", "max_tokens"},
        BadCase{R"("max_completion_tokens":1e308)", "max_completion_tokens"},
        BadCase{R"("max_tokens":3,"min_tokens":4)", "min_tokens"}, BadCase{R"("seed":1.5)", "seed"},
        BadCase{R"("seed":1e30)", "seed"}, BadCase{R"("logprobs":1)", "logprobs"},
        BadCase{R"("top_logprobs":2)", "top_logprobs"},
        BadCase{R"("logprobs":true,"top_logprobs":21)", "top_logprobs"}, BadCase{R"("stop":"")", "stop"},
        BadCase{R"("stop":[1])", "stop"}, BadCase{R"("stop":{})", "stop"},
        BadCase{R"("logit_bias":[1])", "logit_bias"}, BadCase{R"("logit_bias":{"x":1})", "logit_bias"},
        BadCase{R"("logit_bias":{"-1":1})", "logit_bias"}, BadCase{R"("logit_bias":{"1":101})", "logit_bias"},
        BadCase{R"("stop_token_ids":[-1])", "stop_token_ids"},
        BadCase{R"("stop_token_ids":["1"])", "stop_token_ids"},
        BadCase{R"("allowed_token_ids":[])", "allowed_token_ids"}, BadCase{R"("stream":1)", "stream"},
        BadCase{R"("stream_options":{"include_usage":true})", "stream_options"},
        BadCase{R"("stream":true,"stream_options":{"x":1})", "stream_options.x"},
        BadCase{R"("tools":[{"type":"function"}])", "tools"},
        BadCase{R"("tool_choice":"required")", "tool_choice"},
        BadCase{R"("response_format":{"type":"json_object"})", "response_format"},
        BadCase{R"("guided_json":{})", "guided_json"}, BadCase{R"("best_of":2)", "best_of"},
        BadCase{R"("prompt_logprobs":0)", "prompt_logprobs"},
        BadCase{R"("reasoning_effort":"low")", "reasoning_effort"},
        BadCase{R"("no_such_field":1)", "no_such_field"}, BadCase{R"("cache_salt":"")", "cache_salt"},
        BadCase{R"("chat_template_kwargs":[])", "chat_template_kwargs"}, BadCase{R"("n":1,"n":2)", "n"},
        BadCase{R"("continue_final_message":true,"add_generation_prompt":true)", "continue_final_message"},
        BadCase{R"("echo":true)", "echo"}, BadCase{R"("stop":"\ude00 y")", "stop"}));

TEST(ChatBody, BadMessages) {
  const auto param_of = [](std::string_view messages) {
    ChatBody body;
    const auto error = ParseChatBody(fmt::format(R"({{"messages":{}}})", messages), BodyLimits{}, &body);
    EXPECT_TRUE(error.has_value()) << messages;
    return error ? error->param : "";
  };
  EXPECT_EQ(param_of("[]"), "messages");
  EXPECT_EQ(param_of("3"), "messages");
  EXPECT_EQ(param_of("[3]"), "messages[0]");
  EXPECT_EQ(param_of(R"([{"content":"x"}])"), "messages[0].role");
  EXPECT_EQ(param_of(R"([{"role":"king","content":"x"}])"), "messages[0].role");
  EXPECT_EQ(param_of(R"([{"role":"tool","content":"x"}])"), "messages[0].role");
  EXPECT_EQ(param_of(R"([{"role":"user"}])"), "messages[0].content");
  EXPECT_EQ(param_of(R"([{"role":"user","content":5}])"), "messages[0].content");
  EXPECT_EQ(param_of(R"([{"role":"user","content":[{"type":"image_url","image_url":{}}]}])"),
            "messages[0].content");
  EXPECT_EQ(
      param_of(R"([{"role":"user","content":"a"},{"role":"assistant","content":"","tool_calls":[{}]}])"),
      "messages[1].tool_calls");
  EXPECT_EQ(param_of(R"([{"role":"user","content":"\ude00"}])"), "messages");
  ChatBody body;
  const auto missing = ParseChatBody("{}", BodyLimits{}, &body);
  ASSERT_TRUE(missing.has_value());
  EXPECT_EQ(missing->param, "messages");
}

TEST(ChatBody, HostileJson) {
  const auto code_of = [](const std::string& text) {
    ChatBody body;
    const auto error = ParseChatBody(text, BodyLimits{}, &body);
    EXPECT_TRUE(error.has_value());
    EXPECT_EQ(error ? error->status : 0, 400);
    EXPECT_LT(error->ToJson().size(), 1000U);
    return error->code;
  };
  EXPECT_EQ(code_of(""), "invalid_json");
  EXPECT_EQ(code_of("[]"), "invalid_json");
  EXPECT_EQ(code_of("{"), "invalid_json");
  EXPECT_EQ(code_of(R"({"a":NaN})"), "invalid_json");
  EXPECT_EQ(code_of("\xEF\xBB\xBF{}"), "invalid_json");
  EXPECT_EQ(code_of("{\"a\":\"\xFF\xFE\"}"), "invalid_unicode");
  EXPECT_EQ(code_of("{\"a\":\"\xC0\x80\"}"), "invalid_unicode");
  EXPECT_EQ(code_of(ChatText(R"("stop":"\ud83d")")), "invalid_unicode");
  EXPECT_EQ(code_of(std::string("{\"a\":\"") + '\0' + "\"}"), "invalid_json");
  for (const size_t depth : {150U, 3000U, 100'000U}) {
    const std::string nested = std::string(depth, '[') + std::string(depth, ']');
    EXPECT_EQ(code_of(ChatText("\"x\":" + nested)), "invalid_json");
    EXPECT_EQ(code_of(ChatText("\"metadata\":" + nested)), "invalid_json");
  }
  EXPECT_EQ(code_of(std::string(10U << 20U, '[')), "invalid_json");
  EXPECT_EQ(code_of(ChatText(fmt::format("\"{}\":1", std::string(100'000, 'k')))), "unsupported_parameter");
}

TEST(ChatBody, ObjectsWithVeryManyMembersAreRefused) {
  std::string kwargs = "{";
  for (int i = 0; i < 200'000; ++i) kwargs += fmt::format("\"k{}\":0,", i);
  kwargs += "\"end\":0}";
  ChatBody body;
  const auto error = Chat("\"chat_template_kwargs\":" + kwargs, &body);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->param, "chat_template_kwargs");
}

TEST(ChatBody, DepthWithinTheLimitIsTaken) {
  ChatBody body;
  const std::string nested = std::string(90, '[') + std::string(90, ']');
  EXPECT_FALSE(Chat("\"metadata\":" + nested, &body).has_value());
}

TEST(CompletionBody, PromptForms) {
  const auto count = [](std::string_view prompt) -> size_t {
    CompletionBody body;
    const auto error = Completion(fmt::format(R"({{"prompt":{}}})", prompt), &body);
    EXPECT_FALSE(error.has_value()) << error->message;
    return body.prompts.size();
  };
  EXPECT_EQ(count(R"("a")"), 1U);
  EXPECT_EQ(count(R"("")"), 1U);
  EXPECT_EQ(count(R"(["a","b"])"), 2U);
  EXPECT_EQ(count("[1,2,3]"), 1U);
  EXPECT_EQ(count("[[1,2],[3]]"), 2U);
  CompletionBody body;
  ASSERT_FALSE(Completion(R"({"prompt":[1,2,3],"max_tokens":0,"echo":true,"logprobs":0})", &body));
  EXPECT_EQ(std::get<std::vector<int32_t>>(body.prompts[0]), (std::vector<int32_t>{1, 2, 3}));
  EXPECT_EQ(body.fields.max_tokens, 0);
  EXPECT_EQ(body.fields.num_logprobs, 0);
  EXPECT_TRUE(body.echo);
}

TEST(CompletionBody, Refusals) {
  const auto param_of = [](std::string_view text) {
    CompletionBody body;
    const auto error = Completion(text, &body);
    EXPECT_TRUE(error.has_value()) << text;
    return error ? error->param : "";
  };
  EXPECT_EQ(param_of("{}"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":[]})"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":[[]]})"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":[1,"a"]})"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":{}})"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":5})"), "prompt");
  EXPECT_EQ(param_of(R"({"prompt":"a","logprobs":21})"), "logprobs");
  EXPECT_EQ(param_of(R"({"prompt":"a","logprobs":true})"), "logprobs");
  EXPECT_EQ(param_of(R"({"prompt":"a","suffix":"b"})"), "suffix");
}

TEST(CompletionBody, FanOutIsBounded) {
  std::string prompts = "[";
  for (int i = 0; i < 5; ++i) prompts += "\"a\",";
  prompts += "\"a\"]";
  CompletionBody body;
  const auto error = Completion(fmt::format(R"({{"prompt":{},"n":100}})", prompts), &body);
  ASSERT_TRUE(error.has_value());
  EXPECT_EQ(error->param, "n");
}

}  // namespace
}  // namespace firebrick
