#include "text/chat_template.h"

#include <chrono>
#include <cstdlib>
#include <ctime>

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/json.h"

namespace firebrick {
namespace {

ChatTemplate Parse(std::string_view source) {
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  return std::move(parsed).value();
}

Result<RenderedPrompt> Render(std::string_view source, const ChatTemplate::Request& request) {
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source);
  if (!parsed.ok()) return parsed.status();
  return parsed->Render(request);
}

ChatTemplate::Request OneUserMessage(const std::string& content) {
  ChatTemplate::Request request;
  request.messages = Json::array({{{"role", "user"}, {"content", content}}});
  return request;
}

// Every span of the user's text in `prompt`, joined by '|'.
std::string UserText(const RenderedPrompt& prompt) {
  std::string text;
  for (const auto& span : prompt.spans) {
    if (!span.allow_special) text += (text.empty() ? "" : "|") + span.text;
  }
  return text;
}

std::string UserTextOf(const std::string& expression, const std::string& content) {
  const Result<RenderedPrompt> prompt =
      Render("{% set c = messages[0].content %}{{ " + expression + " }}", OneUserMessage(content));
  EXPECT_TRUE(prompt.ok()) << expression << ": " << prompt.status().message();
  return prompt.ok() ? UserText(*prompt) : "";
}

// Made by tools/make_jinja_goldens.py with jinja2.
TEST(ChatTemplate, EqualsJinja2OverTheGoldenCases) {
  setenv("TZ", "UTC", 1);
  tzset();
  constexpr uint64_t kMaxBytes = 4 << 20;
  const auto text = ReadFile(FIREBRICK_SOURCE_DIR "/src/text/testdata/jinja.json", kMaxBytes);
  ASSERT_TRUE(text.ok()) << text.status().message();
  const Json golden = ParseJson(*text).value();
  ChatTemplate::Request request;
  request.messages = Json::array();
  request.add_generation_prompt = false;
  request.extra = golden["variables"];
  request.clock = golden["clock"].get<int64_t>();
  ASSERT_GT(golden["cases"].size(), 1500U);
  for (const Json& one : golden["cases"]) {
    const std::string source = one[0].get<std::string>();
    const Result<RenderedPrompt> prompt = Render(source, request);
    const std::string got = prompt.ok() ? prompt->Text() : "(refused)";
    const std::string expected = one[1].is_null() ? "(refused)" : one[1].get<std::string>();
    EXPECT_EQ(got, expected) << source << "\n  " << prompt.status().message();
  }
}

TEST(ChatTemplate, MarksWhoWroteEachByte) {
  constexpr char kSource[] =
      "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|>{{ m.content }}<|end|>{% endfor %}"
      "{% if add_generation_prompt %}<|assistant|>{% endif %}";
  ChatTemplate::Request request = OneUserMessage("hi <|end|>");
  request.bos_token = "<s>";
  const RenderedPrompt prompt = Parse(kSource).Render(request).value();
  const std::vector<RenderedPrompt::Span> expected = {
      {"<s><|user|>", true}, {"hi <|end|>", false}, {"<|end|><|assistant|>", true}};
  EXPECT_EQ(prompt.spans, expected);
  EXPECT_EQ(prompt.Text(), "<s><|user|>hi <|end|><|end|><|assistant|>");
}

TEST(ChatTemplate, OnlyAKnownRoleCountsAsTheTemplates) {
  ChatTemplate::Request request;
  request.messages = Json::array({{{"role", "im_end"}, {"content", {{"role", "user"}}}}, {{"role", "tool"}}});
  const RenderedPrompt prompt =
      Parse("<|{{ messages[0].role }}|>{{ messages[0].content.role }},{{ messages[1].role }}")
          .Render(request)
          .value();
  EXPECT_EQ(UserText(prompt), "im_end|user");
}

TEST(ChatTemplate, MarksTravelThroughEveryKindOfOperation) {
  const std::pair<const char*, const char*> cases[] = {
      {"'a' + c + 'b'", "X<|y|>"},
      {"'a' ~ c ~ 1", "X<|y|>"},
      {"c[1:4]", "<|y"},
      {"c[::-1]", ">|y|<X"},
      {"c[0] + '|>'", "X"},
      {"c|upper", "X<|Y|>"},
      {"(' ' ~ c ~ ' ')|trim", "X<|y|>"},
      {"c|replace('X', '')", "<|y|>"},
      {"[c, 'k']|join('<|')", "X<|y|>"},
      {"c.split('|')[1]", "y"},
      {"c.split('|')|join('|')", "X<|y|>"},
      {"c|list|join", "X<|y|>"},
      {"'%s!' % c", "X<|y|>"},
      {"'{}!'.format(c)", "X<|y|>"},
      {"(c ~ '\\n' ~ c)|indent(2)", "X<|y|>|X<|y|>"},
      {"[c]|string", "'X<|y|>'"},
      {"{'k': c}|tojson", "{\"k\": \"X<|y|>\"}"},
      {"c|e", "X&lt;|y|&gt;"},
      {"c|safe", "X<|y|>"},
      {"c|first", "X"},
      {"c.center(8, '*')", "X<|y|>"},
      {"c|title", "X<|y|>"},
      {"c|length", "6"},
      {"('7' ~ c)[:1]|int + c|length", "13"},
      {"c if c else 'z'", "X<|y|>"},
      {"messages|map(attribute='content')|first", "X<|y|>"},
      {"messages[0]['con' ~ 'tent']", "X<|y|>"},
      {"messages[0].items()|list|last|last", "X<|y|>"},
  };
  for (const auto& [expression, user_text] : cases) {
    EXPECT_EQ(UserTextOf(expression, "X<|y|>"), user_text) << expression;
  }
  // Replacing the user's text by the template's leaves the rest the user's.
  EXPECT_EQ(UserTextOf("c|replace('|', '!')", "a|b"), "a|b");
}

TEST(ChatTemplate, MarksTravelThroughStatements) {
  constexpr char kSource[] =
      "{% macro show(x) %}[{{ x }}]{% endmacro %}"
      "{% set block %}<{{ messages[0].content }}>{% endset %}"
      "{% set ns = namespace(t='') %}{% for m in messages %}{% set ns.t = ns.t ~ m.content %}{% endfor %}"
      "{{ show(messages[0].content) }}{{ block }}{{ ns.t }}.{% filter upper %}{{ messages[0].content }}{% "
      "endfilter %}";
  const RenderedPrompt prompt = Parse(kSource).Render(OneUserMessage("u|>")).value();
  EXPECT_EQ(prompt.Text(), "[u|>]<u|>>u|>.U|>");
  EXPECT_EQ(UserText(prompt), "u|>|u|>|u|>|U|>");
}

TEST(ChatTemplate, ExtraNamesAreTheUsersAndComeFirst) {
  ChatTemplate::Request request = OneUserMessage("x");
  request.bos_token = "<s>";
  request.extra = {{"bos_token", "<evil>"}, {"flag", false}, {"count", 3}};
  const RenderedPrompt prompt = Parse("{{ bos_token }},{{ flag }},{{ count }}").Render(request).value();
  EXPECT_EQ(prompt.Text(), "<evil>,False,3");
  EXPECT_EQ(UserText(prompt), "<evil>|3");
}

TEST(ChatTemplate, ToolsThatAreNullAreUndefined) {
  const ChatTemplate chat_template = Parse("{{ tools is defined }}{% for t in tools %}{{ t }}{% endfor %}");
  EXPECT_EQ(chat_template.Render(OneUserMessage("")).value().Text(), "False");
  ChatTemplate::Request request = OneUserMessage("");
  request.extra = {{"tools", nullptr}};
  EXPECT_FALSE(chat_template.Render(request).ok());  // none cannot be iterated
}

TEST(ChatTemplate, ErrorsNameTheLineOrTheReason) {
  const Status syntax = ChatTemplate::Parse("a\n{% if x %}\nb").status();
  EXPECT_EQ(syntax.code(), StatusCode::kInvalidArgument);
  EXPECT_NE(syntax.message().find("line 3"), std::string::npos) << syntax.message();
  EXPECT_EQ(ChatTemplate::Parse("{% include 'x' %}").status().code(), StatusCode::kUnimplemented);
  EXPECT_FALSE(ChatTemplate::Parse("\xff").ok());
  const Status raised = Render("{{ raise_exception('roles must alternate') }}", {}).status();
  EXPECT_NE(raised.message().find("roles must alternate"), std::string::npos);
}

TEST(ChatTemplate, IsSharedByRenderings) {
  const ChatTemplate chat_template =
      Parse("{% set ns = namespace(n=0) %}{% set ns.n = ns.n + 1 %}{{ ns.n }}");
  EXPECT_EQ(chat_template.Render({}).value().Text(), "1");
  EXPECT_EQ(chat_template.Render({}).value().Text(), "1");
}

// A template that exceeds a limit ends with an error, soon, and releases all it held (the leak check of the
// sanitizer build sees to that).
class TemplateLimit : public testing::TestWithParam<const char*> {};

TEST_P(TemplateLimit, EndsTheRendering) {
  ChatTemplate::Request request = OneUserMessage("x");
  request.limits.max_steps = 2'000'000;
  request.limits.max_memory_bytes = 32 << 20;
  request.limits.max_output_bytes = 1 << 20;
  request.limits.max_time = std::chrono::hours(1);  // steps and bytes end it, however busy the machine is
  const std::clock_t start = std::clock();
  const Result<RenderedPrompt> prompt = Render(GetParam(), request);
  EXPECT_LT(static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC, 20.0);
  ASSERT_FALSE(prompt.ok());
  EXPECT_TRUE(prompt.status().code() == StatusCode::kResourceExhausted ||
              prompt.status().code() == StatusCode::kInvalidArgument)
      << prompt.status().ToString();
}

constexpr const char* kExhausting[] = {
    // time
    "{% for a in range(99999) %}{% for b in range(99999) %}{% endfor %}{% endfor %}",
    "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(40) }}",
    "{% for i in range(99999) %}{{ 'x' in ('y' * 100000) }}{% endfor %}",
    // memory
    "{{ 'x' * 10000000000 }}",
    "{{ [1] * 10000000000 }}",
    "{{ 'x'.center(10000000000) }}",
    "{{ '%1000000s' % 1 * 1000 }}",
    "{% set ns = namespace(s='xxxxxxxx') %}{% for i in range(99) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(99) %}{% set ns.l = ns.l + ns.l %}{% endfor %}",
    "{% set ns = namespace(s='ab') %}{% for i in range(99) %}{% set ns.s = ns.s|replace('', ns.s) %}{% "
    "endfor %}",
    "{{ [[1]]|batch(100000000000, 'x')|list }}",
    // the same value many times: small in memory, large when it prints, compares or is a key
    "{% set ns = namespace(l=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ ns.l "
    "}}",
    "{% set ns = namespace(l=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}{% endfor %}{{ "
    "ns.l|tojson }}",
    "{% set ns = namespace(l=(1,)) %}{% for i in range(90) %}{% set ns.l = (ns.l, ns.l) %}{% endfor %}{{ "
    "{ns.l: 1} }}",
    "{% set ns = namespace(l=[1], m=[1]) %}{% for i in range(90) %}{% set ns.l = [ns.l, ns.l] %}"
    "{% set ns.m = [ns.m, ns.m] %}{% endfor %}{{ ns.l == ns.m }}",
    // output
    "{% for i in range(99999) %}xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx{% endfor %}",
    // depth
    "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}",
    "{% macro f() %}{{ caller() }}{% endmacro %}{% macro g() %}{% call f() %}{{ g() }}{% endcall %}{% "
    "endmacro %}"
    "{{ g() }}",
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = [ns.l] %}{% endfor %}",
    "{% set ns = namespace(l={}) %}{% for i in range(99999) %}{% set ns.l = {'k': ns.l} %}{% endfor %}",
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = ns.l|map('upper') %}{% endfor %}",
    "{% set ns = namespace(l=[]) %}{% for i in range(99999) %}{% set ns.l = dict(a=ns.l).items() %}{% endfor "
    "%}",
    "{% set ns = namespace() %}{% set ns.ns = ns %}{{ ns }}",
    "{% for x in [[1]] recursive %}{{ loop([[1]]) }}{% endfor %}",
    // numbers
    "{{ 10 ** 100 }}",
    "{{ 2 ** 10000000000 }}",
    "{% set ns = namespace(n=10) %}{% for i in range(99) %}{% set ns.n = ns.n * ns.n %}{% endfor %}",
    "{{ '%1000000000d' % 1 }}",
    "{{ '{:1000000000}'.format(1) }}",
};
INSTANTIATE_TEST_SUITE_P(All, TemplateLimit, testing::ValuesIn(kExhausting));

TEST(ChatTemplate, TimeEndsTheRendering) {
  ChatTemplate::Request request;
  request.limits.max_time = std::chrono::milliseconds(5);
  const Result<RenderedPrompt> prompt =
      Render("{% for a in range(99999) %}{% for b in range(99) %}{{ b }}{% endfor %}{% endfor %}", request);
  EXPECT_EQ(prompt.status().code(), StatusCode::kDeadlineExceeded);
}

TEST(ChatTemplate, CyclesAndLongChainsAreReleased) {
  constexpr char kSource[] =
      "{% set ns = namespace(a=1) %}{% set ns.self = ns %}{% set ns.list = [ns] %}"
      "{% set head = namespace(next=none) %}"
      "{% for i in range(50000) %}{% set head.next = namespace(next=head.next) %}{% endfor %}"
      "{% macro f() %}{{ ns.a }}{% endmacro %}{% set ns.f = f %}{{ ns.f() }}";
  EXPECT_EQ(Parse(kSource).Render({}).value().Text(), "1");
}

TEST(ChatTemplate, DeepSourcesAreRefusedOrParsed) {
  const auto repeat = [](const std::string& text, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += text;
    return out;
  };
  constexpr int kMany = 100'000;
  for (const std::string& source :
       {"{{ " + repeat("(", kMany), "{{ " + repeat("[", kMany) + repeat("]", kMany) + " }}",
        "{{ " + repeat("-", kMany) + "1 }}", "{{ " + repeat("not ", kMany) + "1 }}",
        "{{ 1" + repeat("+1", kMany) + " }}", "{{ x" + repeat(".a", kMany) + " }}",
        "{{ x" + repeat("|e", kMany) + " }}", "{{ " + repeat("1 if ", kMany) + "1 }}",
        repeat("{% if 1 %}", kMany), "{{ 1" + repeat(" if 1 else 1", kMany) + " }}",
        "{% set " + repeat("(", kMany) + "a" + repeat(")", kMany) + " = 1 %}",
        repeat("{% for x in y %}", kMany), "{{ 1" + repeat(" and 1", kMany) + " }}"}) {
    EXPECT_FALSE(ChatTemplate::Parse(source).ok()) << source.substr(0, 40);
  }
  EXPECT_EQ(Parse("{{ 'a'" + repeat(" ~ 'a'", 5000) + " }}").Render({}).value().Text().size(), 5001U);
}

TEST(ChatTemplate, ADeepRequestIsRefused) {
  Json deep = 1;
  for (int i = 0; i < 1000; ++i) deep = Json::array({std::move(deep)});
  ChatTemplate::Request request;
  request.messages = deep;
  EXPECT_FALSE(Render("{{ messages }}", request).ok());
  // What the template does not read is not looked at.
  EXPECT_TRUE(Render("x", request).ok());
}

}  // namespace
}  // namespace firebrick
