// The whole server over real sockets, with the real engine and a fake device: what clients see, and what is
// left behind in the engine.
#include "server/api_server.h"

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "base/utf8.h"
#include "exec/fake/fake_executor.h"
#include "http/loopback_client.h"

namespace firebrick {
namespace {

using std::chrono::milliseconds;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr int32_t kVocabSize = 95;  // the printable characters of ASCII, one token each

std::string PrintableTokenizerJson() {
  Json vocab = Json::object();
  for (int32_t id = 0; id < kVocabSize; ++id) {
    const char c = static_cast<char>(' ' + id);
    vocab[c == ' ' ? "Ġ" : std::string(1, c)] = id;
  }
  const Json byte_level = {
      {"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}};
  const Json json = {{"version", "1.0"},
                     {"added_tokens", Json::array()},
                     {"normalizer", nullptr},
                     {"pre_tokenizer", byte_level},
                     {"post_processor", nullptr},
                     {"decoder", byte_level},
                     {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
  return json.dump();
}

bool Eventually(const std::function<bool()>& condition, milliseconds wait = milliseconds(10'000)) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return condition();
}

struct Answer {
  int status = 0;
  std::string head;
  std::string body;
  Json json() const { return Json::parse(body, nullptr, false); }
  // The data of its events, the last of them [DONE].
  std::vector<std::string> events() const {
    std::vector<std::string> data;
    size_t at = 0;
    while ((at = body.find("data: ", at)) != std::string::npos) {
      const size_t end = body.find("\n\n", at);
      data.push_back(body.substr(at + 6, end - at - 6));
      at = end;
    }
    return data;
  }
};

class ApiServerTest : public ::testing::Test {
 protected:
  void Start(const std::function<void(FakeExecutorConfig*, EngineConfig*, ApiServerConfig*)>& adjust = {},
             FakeExecutorHooks hooks = {}) {
    auto tokenizer = Tokenizer::FromJson(PrintableTokenizerJson(), nullptr);
    ASSERT_TRUE(tokenizer.ok()) << tokenizer.status().ToString();
    tokenizer_.emplace(std::move(tokenizer).value());
    auto chat_template = ChatTemplate::Parse(
        "{% for m in messages %}[{{ m.role }}]{{ m.content }}{% endfor %}{% if add_generation_prompt "
        "%}[bot]{% endif %}");
    ASSERT_TRUE(chat_template.ok()) << chat_template.status().ToString();
    template_.emplace(std::move(chat_template).value());

    FakeExecutorConfig device;
    device.num_blocks = 256;
    device.groups = {KvGroupSpec{.layers = {0}, .window = 0}};
    device.max_num_seqs = 16;
    device.vocab_size = kVocabSize;
    EngineConfig engine;
    engine.scheduler.num_blocks = device.num_blocks;
    engine.scheduler.groups = device.groups;
    engine.scheduler.max_num_seqs = device.max_num_seqs;
    engine.scheduler.max_model_len = 4096;
    ApiServerConfig server;
    server.http.port = 0;
    server.version = "test";
    if (adjust) adjust(&device, &engine, &server);

    metrics_ = std::make_unique<ServerMetrics>("fake", 32);
    engine_ = std::make_unique<Engine>(engine, std::make_unique<FakeExecutor>(device, std::move(hooks)),
                                       &*tokenizer_, metrics_->Observers());
    ServedModel model;
    model.names = {"fake", "other-name"};
    model.fingerprint = "fp";
    model.max_model_len = engine.scheduler.max_model_len;
    model.vocab_size = kVocabSize;
    model.tokenizer = &*tokenizer_;
    if (has_template_) model.chat_template = &*template_;
    auto started = ApiServer::Start(server, model, engine_.get(), metrics_.get());
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
  }
  void TearDown() override {
    if (engine_) {
      EXPECT_TRUE(Eventually([&] { return Idle(); })) << engine_->Counters().num_running;
    }
    server_.reset();
    engine_.reset();
  }
  bool Idle() const {
    const EngineCounters counters = engine_->Counters();
    return counters.num_running == 0 && counters.num_waiting == 0 && counters.num_blocks_used == 0;
  }

  static std::string Request(std::string_view path, const std::string& body) {
    return fmt::format("POST {} HTTP/1.0\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body);
  }
  Answer Exchange(const std::string& request) const {
    LoopbackClient client(server_->port());
    client.Send(request);
    const std::string all = client.ReadToEnd(milliseconds(30'000));
    Answer answer;
    const size_t split = all.find("\r\n\r\n");
    if (all.size() < 12 || split == std::string::npos) return answer;
    answer.status = std::stoi(all.substr(9, 3));
    answer.head = all.substr(0, split);
    answer.body = all.substr(split + 4);
    return answer;
  }
  Answer Complete(const std::string& fields) const {
    return Exchange(Request("/v1/completions", "{" + fields + "}"));
  }
  Answer Chat(const std::string& fields) const {
    return Exchange(
        Request("/v1/chat/completions", R"({"messages":[{"role":"user","content":"hello there"}])" +
                                            (fields.empty() ? "" : "," + fields) + "}"));
  }
  Answer Get(const std::string& path) const { return Exchange(fmt::format("GET {} HTTP/1.0\r\n\r\n", path)); }

  bool has_template_ = true;
  std::optional<Tokenizer> tokenizer_;
  std::optional<ChatTemplate> template_;
  std::unique_ptr<ServerMetrics> metrics_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<ApiServer> server_;
};

TEST_F(ApiServerTest, StreamJoinedEqualsWhole) {
  Start();
  for (const char* fields : {R"("max_tokens":40,"seed":1)", R"("max_tokens":40,"n":3,"seed":1)",
                             R"("max_tokens":30,"seed":1,"logprobs":true,"top_logprobs":2)",
                             R"("seed":1,"max_tokens":60,"stop":["a","e","i"])"}) {
    const Json whole = Chat(fields).json();
    const Answer stream =
        Chat(std::string(fields) + R"(,"stream":true,"stream_options":{"include_usage":true})");
    ASSERT_EQ(stream.status, 200) << stream.body;
    EXPECT_THAT(stream.head, HasSubstr("Content-Type: text/event-stream"));
    EXPECT_THAT(stream.head, HasSubstr("X-Accel-Buffering: no"));
    std::vector<std::string> events = stream.events();
    ASSERT_EQ(events.back(), "[DONE]");
    events.pop_back();
    std::vector<std::string> texts(whole["choices"].size());
    std::vector<Json> finishes(texts.size());
    std::vector<Json> logprobs(texts.size(), Json::array());
    Json usage;
    for (const std::string& event : events) {
      const Json chunk = Json::parse(event);
      if (chunk["choices"].empty()) usage = chunk["usage"];
      for (const Json& part : chunk["choices"]) {
        const size_t index = part["index"];
        texts[index] += part["delta"].value("content", "");
        if (!part["finish_reason"].is_null()) finishes[index] = part["finish_reason"];
        if (part["logprobs"].is_null()) continue;
        for (const Json& entry : part["logprobs"]["content"]) logprobs[index].push_back(entry);
      }
    }
    for (const Json& choice : whole["choices"]) {
      const size_t index = choice["index"];
      EXPECT_EQ(texts[index], choice["message"]["content"].get<std::string>());
      EXPECT_EQ(finishes[index], choice["finish_reason"]);
      const Json expected = choice["logprobs"].is_null() ? Json::array() : choice["logprobs"]["content"];
      EXPECT_EQ(logprobs[index], expected);
    }
    EXPECT_EQ(usage["completion_tokens"], whole["usage"]["completion_tokens"]) << fields;
    EXPECT_EQ(usage["prompt_tokens"], whole["usage"]["prompt_tokens"]);
  }
}

TEST_F(ApiServerTest, UsageCountsPromptOnceAndNamesTheCache) {
  Start();
  const std::string prompt(100, 'x');
  const Json first = Complete(fmt::format(R"("prompt":"{}","max_tokens":5,"n":3)", prompt)).json()["usage"];
  EXPECT_EQ(first["prompt_tokens"], 100);
  EXPECT_EQ(first["completion_tokens"], 15);
  EXPECT_EQ(first["total_tokens"], 115);
  EXPECT_EQ(first["prompt_tokens_details"]["cached_tokens"], 0);
  const Json second = Complete(fmt::format(R"("prompt":"{}","max_tokens":5)", prompt)).json()["usage"];
  EXPECT_EQ(second["prompt_tokens_details"]["cached_tokens"], 96);
  const Json salted =
      Complete(fmt::format(R"("prompt":"{}","max_tokens":5,"cache_salt":"s")", prompt)).json()["usage"];
  EXPECT_EQ(salted["prompt_tokens_details"]["cached_tokens"], 0);
}

TEST_F(ApiServerTest, EchoWithZeroTokensAndLogprobs) {
  Start();
  for (const std::string stream : {"", R"(,"stream":true)"}) {
    const Answer answer = Complete(R"("prompt":[33,34,35],"max_tokens":0,"echo":true,"logprobs":1)" + stream);
    ASSERT_EQ(answer.status, 200) << answer.body;
    const Json choice = (stream.empty() ? answer.json() : Json::parse(answer.events()[0]))["choices"][0];
    EXPECT_EQ(choice["text"], "ABC");
    EXPECT_EQ(choice["finish_reason"], "length");
    EXPECT_EQ(choice["logprobs"]["tokens"].dump(), R"(["A","B","C"])");
    EXPECT_EQ(choice["logprobs"]["text_offset"].dump(), "[0,1,2]");
    EXPECT_TRUE(choice["logprobs"]["token_logprobs"][0].is_null());
    EXPECT_TRUE(choice["logprobs"]["token_logprobs"][2].is_number());
  }
  const Json usage = Complete(R"("prompt":[33,34,35],"max_tokens":0,"echo":true)").json()["usage"];
  EXPECT_EQ(usage["prompt_tokens"], 3);
  EXPECT_EQ(usage["completion_tokens"], 0);
}

TEST_F(ApiServerTest, StopStringIsCutAndNamed) {
  Start();
  const std::string text =
      Complete(R"("prompt":"abc","seed":1,"max_tokens":40)").json()["choices"][0]["text"];
  ASSERT_EQ(text.size(), 40U);
  const std::string stop = text.substr(10, 4);
  const Json fields = {{"prompt", "abc"}, {"seed", 1}, {"max_tokens", 40}, {"stop", {"not there", stop}}};
  const Json choice = Exchange(Request("/v1/completions", fields.dump())).json()["choices"][0];
  EXPECT_EQ(choice["text"], text.substr(0, text.find(stop)));
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["stop_reason"], stop);
}

TEST_F(ApiServerTest, StopIdOfTheCallerIsNamed) {
  Start();
  const std::string text =
      Complete(R"("prompt":"abc","seed":1,"max_tokens":10)").json()["choices"][0]["text"];
  const int id = text[4] - ' ';
  const Json choice =
      Complete(fmt::format(R"("prompt":"abc","seed":1,"max_tokens":10,"stop_token_ids":[{}])", id))
          .json()["choices"][0];
  EXPECT_EQ(choice["finish_reason"], "stop");
  EXPECT_EQ(choice["stop_reason"], id);
}

TEST_F(ApiServerTest, DisconnectFreesEveryBlock) {
  Start([](FakeExecutorConfig* device, EngineConfig*, ApiServerConfig*) {
    device->sleeps = true;
    device->ns_per_step = 2'000'000;
  });
  for (const std::string stream : {"true", "false"}) {
    auto client = std::make_unique<LoopbackClient>(server_->port());
    client->Send(
        Request("/v1/completions",
                R"({"prompt":"hello","max_tokens":4000,"n":4,"ignore_eos":true,"stream":)" + stream + "}"));
    ASSERT_TRUE(Eventually([&] { return engine_->Counters().num_running == 4; }));
    EXPECT_GT(engine_->Counters().num_blocks_used, 0);
    const uint64_t cancelled = engine_->Counters().finished_cancelled;
    client->Close();
    EXPECT_TRUE(Eventually([&] { return Idle(); }));
    // Counted by the output thread, which may be a moment behind.
    EXPECT_TRUE(Eventually([&] { return engine_->Counters().finished_cancelled == cancelled + 4; }));
  }
}

TEST_F(ApiServerTest, ErrorBeforeTheFirstTokenIsAStatus) {
  FakeExecutorHooks hooks;
  hooks.fails = [](RequestId, int32_t) { return true; };
  Start({}, std::move(hooks));
  for (const char* stream : {"true", "false"}) {
    const Answer answer = Chat(fmt::format(R"("stream":{})", stream));
    EXPECT_EQ(answer.status, 500);
    EXPECT_EQ(answer.json()["error"]["type"], "server_error");
  }
}

TEST_F(ApiServerTest, ErrorLaterIsAnEvent) {
  FakeExecutorHooks hooks;
  hooks.fails = [](RequestId, int32_t position) { return position > 40; };
  Start({}, std::move(hooks));
  const Answer stream = Chat(R"("stream":true,"max_tokens":100)");
  ASSERT_EQ(stream.status, 200);
  const std::vector<std::string> events = stream.events();
  ASSERT_GT(events.size(), 3U);
  EXPECT_EQ(Json::parse(events[events.size() - 2])["error"]["type"], "server_error");
  EXPECT_EQ(events.back(), "[DONE]");
  EXPECT_EQ(Chat(R"("max_tokens":100)").status, 500);
  EXPECT_EQ(Chat(R"("max_tokens":1)").status, 200);
}

TEST_F(ApiServerTest, FullEngineIs429AndNothingIsLeft) {
  Start([](FakeExecutorConfig* device, EngineConfig* engine, ApiServerConfig*) {
    device->sleeps = true;
    device->ns_per_step = 5'000'000;
    device->max_num_seqs = engine->scheduler.max_num_seqs = 2;
    engine->scheduler.max_num_queued = 2;
    engine->mailbox_capacity = 4;
  });
  const Answer answer = Complete(R"("prompt":"x","n":64,"max_tokens":100,"ignore_eos":true)");
  EXPECT_EQ(answer.status, 429) << answer.body;
  EXPECT_THAT(answer.head, HasSubstr("Retry-After: "));
  EXPECT_EQ(answer.json()["error"]["type"], "rate_limit_error");
  // What was cancelled leaves within a step or two; until then the engine is still full.
  EXPECT_TRUE(Eventually([&] { return Complete(R"("prompt":"x","max_tokens":2)").status == 200; },
                         milliseconds(2000)));
}

TEST_F(ApiServerTest, ContextLength) {
  Start();
  const Answer answer = Complete(fmt::format(R"("prompt":"{}")", std::string(4096, 'x')));
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["code"], "context_length_exceeded");
  EXPECT_THAT(answer.body, HasSubstr("4096"));
  EXPECT_EQ(Complete(R"("prompt":"x","max_tokens":4096)").json()["error"]["code"], "context_length_exceeded");
  const Answer fits = Complete(fmt::format(R"("prompt":"{}","max_tokens":1)", std::string(4095, 'x')));
  EXPECT_EQ(fits.status, 200) << fits.body;
}

TEST_F(ApiServerTest, BaseModelRefusesChat) {
  has_template_ = false;
  Start();
  const Answer answer = Chat("");
  EXPECT_EQ(answer.status, 400);
  EXPECT_EQ(answer.json()["error"]["code"], "no_chat_template");
  EXPECT_EQ(Complete(R"("prompt":"x","max_tokens":1)").status, 200);
}

TEST_F(ApiServerTest, ContinueFinalMessageDropsTheGenerationPrompt) {
  Start();
  const auto tokens = [&](const std::string& fields) {
    return Exchange(
               Request("/v1/chat/completions",
                       R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"bc"}],)"
                       R"("max_tokens":1)" +
                           fields + "}"))
        .json()["usage"]["prompt_tokens"]
        .get<int>();
  };
  EXPECT_EQ(tokens(""), static_cast<int>(std::string("[user]a[assistant]bc[bot]").size()));
  EXPECT_EQ(tokens(R"(,"continue_final_message":true)"),
            static_cast<int>(std::string("[user]a[assistant]bc").size()));
}

TEST_F(ApiServerTest, Routes) {
  Start();
  EXPECT_EQ(Get("/health").status, 200);
  EXPECT_EQ(Get("/ready").status, 200);
  EXPECT_EQ(Get("/version").json()["version"], "test");
  EXPECT_EQ(Get("/v1/models").json()["data"][1]["id"], "other-name");
  EXPECT_EQ(Get("/v1/models/fake").json()["max_model_len"], 4096);
  EXPECT_EQ(Get("/v1/models/none").status, 404);
  EXPECT_THAT(Get("/metrics").body, HasSubstr("vllm:num_requests_running"));
  EXPECT_EQ(Get("/nowhere").status, 404);
  EXPECT_EQ(Get("/health/").status, 404);
  const Answer wrong = Get("/v1/completions");
  EXPECT_EQ(wrong.status, 405);
  EXPECT_THAT(wrong.head, HasSubstr("Allow: POST"));
  EXPECT_THAT(wrong.body, StartsWith(R"({"error":{"message":)"));
}

TEST_F(ApiServerTest, DrainRefusesNewAndLetsRunningFinish) {
  Start([](FakeExecutorConfig* device, EngineConfig*, ApiServerConfig*) {
    device->sleeps = true;
    device->ns_per_step = 2'000'000;
  });
  LoopbackClient running(server_->port());
  running.Send(
      Request("/v1/completions", R"({"prompt":"hello","max_tokens":200,"ignore_eos":true,"stream":true})"));
  ASSERT_TRUE(Eventually([&] { return engine_->Counters().num_running == 1; }));
  server_->BeginDrain();
  EXPECT_EQ(Get("/ready").status, 503);
  EXPECT_EQ(Get("/health").status, 200);
  const Answer refused = Complete(R"("prompt":"x")");
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.head, HasSubstr("Retry-After: "));
  EXPECT_TRUE(engine_->Drain(std::chrono::steady_clock::now() + std::chrono::seconds(20)));
  server_->Stop(milliseconds(2000));
  const std::string all = running.ReadToEnd();
  EXPECT_THAT(all, HasSubstr(R"("finish_reason":"length")"));
  EXPECT_THAT(all, HasSubstr("data: [DONE]\n\n"));
}

TEST_F(ApiServerTest, StopCancelsWhatRuns) {
  Start([](FakeExecutorConfig* device, EngineConfig*, ApiServerConfig*) {
    device->sleeps = true;
    device->ns_per_step = 2'000'000;
  });
  LoopbackClient running(server_->port());
  running.Send(Request("/v1/completions", R"({"prompt":"hello","max_tokens":4000,"ignore_eos":true})"));
  ASSERT_TRUE(Eventually([&] { return engine_->Counters().num_running == 1; }));
  server_->Stop(milliseconds(0));
  EXPECT_TRUE(Eventually([&] { return Idle(); }));
}

TEST_F(ApiServerTest, ManyClientsGetTheirOwnAnswers) {
  Start();
  std::vector<std::string> alone(24);
  const auto ask = [&](size_t i) {
    return Complete(
               fmt::format(R"("prompt":"client {}","seed":1,"max_tokens":{},"ignore_eos":true)", i, 20 + i))
        .body;
  };
  const auto text_of = [](const std::string& body) { return Json::parse(body)["choices"].dump(); };
  for (size_t i = 0; i < alone.size(); ++i) alone[i] = text_of(ask(i));
  std::vector<std::string> together(alone.size());
  std::vector<std::thread> clients;
  for (size_t i = 0; i < alone.size(); ++i) clients.emplace_back([&, i] { together[i] = text_of(ask(i)); });
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(together, alone);
}

}  // namespace
}  // namespace firebrick
