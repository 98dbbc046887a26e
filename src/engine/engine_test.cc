// The engine with its real threads over the fake executor.
#include "engine/engine.h"

#include <ctime>
#include <map>
#include <random>
#include <thread>

#include <gtest/gtest.h>

#include "base/json.h"
#include "exec/fake/fake_executor.h"
#include "text/tokenizer.h"

namespace firebrick {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int32_t kVocab = 94;

// Token i is the character '!' + i.
const Tokenizer& Letters() {
  static const Tokenizer kTokenizer = [] {
    Json json = {
        {"model", {{"type", "BPE"}, {"vocab", Json::object()}, {"merges", Json::array()}}},
        {"pre_tokenizer", {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}}},
        {"decoder", {{"type", "ByteLevel"}}}};
    for (int32_t i = 0; i < kVocab; ++i)
      json["model"]["vocab"][std::string(1, static_cast<char>('!' + i))] = i;
    Result<Tokenizer> tokenizer = Tokenizer::FromJson(json.dump(), nullptr);
    CHECK_MSG(tokenizer.ok(), "{}", tokenizer.status().ToString());
    return std::move(tokenizer).value();
  }();
  return kTokenizer;
}

std::string TextOf(const std::vector<int32_t>& tokens) { return Letters().Decode(tokens, true); }

class Listener : public TokenSink {
 public:
  void OnDelta(TokenDelta delta) override {
    if (on_delta) on_delta(delta);
    const std::lock_guard lock(mutex_);
    EXPECT_FALSE(last_.finish.has_value()) << "a delta behind the last one";
    text_ += delta.text;
    tokens_.insert(tokens_.end(), delta.tokens.begin(), delta.tokens.end());
    logprobs_.insert(logprobs_.end(), delta.logprobs.begin(), delta.logprobs.end());
    if (!delta.finish.has_value()) return;
    last_ = std::move(delta);
    ended_.notify_all();
  }
  // The delta that ended it. Text, tokens and logprobs are complete then.
  TokenDelta Wait() {
    std::unique_lock lock(mutex_);
    const bool has_ended =
        ended_.wait_for(lock, std::chrono::seconds(60), [&] { return last_.finish.has_value(); });
    EXPECT_TRUE(has_ended) << "the last delta never came";
    if (!has_ended) last_.finish = FinishReason::kError;
    return last_;
  }
  bool HasEnded() {
    const std::lock_guard lock(mutex_);
    return last_.finish.has_value();
  }
  size_t num_tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_.size();
  }
  const std::string& text() const { return text_; }
  const std::vector<int32_t>& tokens() const { return tokens_; }
  const std::vector<TokenLogprob>& logprobs() const { return logprobs_; }
  std::function<void(const TokenDelta&)> on_delta;  // set before the submit

 private:
  std::mutex mutex_;
  std::condition_variable ended_;
  TokenDelta last_;
  std::string text_;
  std::vector<int32_t> tokens_;
  std::vector<TokenLogprob> logprobs_;
};

EngineConfig SmallEngine() {
  EngineConfig config;
  config.scheduler.num_blocks = 60;
  config.scheduler.groups = {{{0}, 0}, {{1}, 40}};
  config.scheduler.max_model_len = 600;
  config.scheduler.max_num_seqs = 8;
  config.scheduler.max_num_batched_tokens = 128;
  return config;
}

std::unique_ptr<Engine> MakeEngine(const EngineConfig& config, int64_t ns_per_step = 0,
                                   const Tokenizer* tokenizer = &Letters(), EngineObservers observers = {}) {
  FakeExecutorConfig device;
  device.num_blocks = config.scheduler.num_blocks;
  device.groups = config.scheduler.groups;
  device.max_num_seqs = config.scheduler.max_num_seqs;
  device.vocab_size = kVocab;
  device.ns_per_step = ns_per_step;
  device.sleeps = ns_per_step > 0;
  return std::make_unique<Engine>(config, std::make_unique<FakeExecutor>(device), tokenizer,
                                  std::move(observers));
}

struct Call {
  GenerateRequest request;
  std::shared_ptr<Listener> listener = std::make_shared<Listener>();
};

Call MakeCall(Engine* engine, uint64_t seed, int32_t num_prompt, int32_t max_tokens) {
  Call call;
  std::mt19937_64 random(seed);
  for (int32_t i = 0; i < num_prompt; ++i)
    call.request.prompt.push_back(static_cast<int32_t>(random() % kVocab));
  call.request.stop.max_tokens = max_tokens;
  call.request.sampling.seed = seed;
  call.request.id = engine->NewRequestId();
  call.request.sink = call.listener;
  return call;
}

Call Submit(Engine* engine, uint64_t seed, int32_t num_prompt, int32_t max_tokens) {
  Call call = MakeCall(engine, seed, num_prompt, max_tokens);
  const Status status = engine->Submit(call.request);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return call;
}

void ExpectAtRest(Engine* engine) {
  EXPECT_TRUE(engine->Drain(Clock::now() + std::chrono::seconds(60)));
  EngineCounters counters;
  for (int i = 0; i < 1000; ++i) {  // the snapshot follows the last delta by a moment
    counters = engine->Counters();
    if (counters.num_running + counters.num_waiting + counters.num_blocks_used == 0) break;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(counters.num_running, 0);
  EXPECT_EQ(counters.num_waiting, 0);
  EXPECT_EQ(counters.num_blocks_used, 0);
}

TEST(Engine, AnswersWithTextUsageAndTimings) {
  std::atomic<int> num_first = 0, num_gaps = 0, num_finished = 0;
  EngineObservers observers;
  observers.time_to_first_token = [&](double seconds) { num_first += seconds >= 0 ? 1 : 0; };
  observers.inter_token = [&](double seconds) { num_gaps += seconds >= 0 ? 1 : 0; };
  observers.finished = [&](const TokenDelta& last) { num_finished += last.finish.has_value() ? 1 : 0; };
  auto engine = MakeEngine(SmallEngine(), 1'000'000, &Letters(), observers);
  Call call = MakeCall(engine.get(), 1, 70, 10);
  call.request.sampling.num_logprobs = 0;
  ASSERT_TRUE(engine->Submit(call.request).ok());
  TokenDelta last = call.listener->Wait();
  const FakeAnswer answer = ExpectAnswer(call.request, 0, kVocab);
  EXPECT_EQ(call.listener->tokens(), answer.tokens);
  EXPECT_EQ(call.listener->text(), TextOf(answer.tokens));
  EXPECT_EQ(call.listener->logprobs().size(), 10U);
  EXPECT_EQ(last.finish, FinishReason::kLength);
  EXPECT_EQ(last.usage.prompt_tokens, 70);
  EXPECT_EQ(last.usage.completion_tokens, 10);
  EXPECT_EQ(last.usage.cached_tokens, 0) << "case 86: present, also when 0";
  EXPECT_GT(last.timings.prefill_ms, 0.5);
  EXPECT_GT(last.timings.decode_ms, 5);
  const Call second = Submit(engine.get(), 1, 70, 10);
  EXPECT_EQ(second.listener->Wait().usage.cached_tokens, 64);
  EXPECT_EQ(second.listener->tokens(), answer.tokens);
  ExpectAtRest(engine.get());
  EXPECT_EQ(num_first, 2);
  EXPECT_EQ(num_gaps, 18);
  EXPECT_EQ(num_finished, 2);
  const EngineCounters counters = engine->Counters();
  EXPECT_EQ(counters.prompt_tokens, 140U);
  EXPECT_EQ(counters.generated_tokens, 20U);
  EXPECT_EQ(counters.prefix_hits, 64U);
  EXPECT_EQ(counters.finished_length, 2U);
  EXPECT_GT(counters.last_step_ns, 0);
}

TEST(Engine, ManyThreadsSubmitAndCancel) {
  auto engine = MakeEngine(SmallEngine());
  std::atomic<uint64_t> num_answers = 0, num_tokens = 0;
  const auto client = [&](uint64_t thread) {
    std::mt19937_64 random(thread);
    std::vector<std::pair<Call, bool>> calls;
    for (uint64_t i = 0; i < 60; ++i) {
      Call call = MakeCall(engine.get(), random() % 20, 1 + static_cast<int32_t>(random() % 200),
                           1 + static_cast<int32_t>(random() % 40));
      call.request.stop.stop_token_ids = {1, 2, 3};
      Status status;
      while (!(status = engine->Submit(call.request)).ok()) {
        ASSERT_EQ(status.code(), StatusCode::kResourceExhausted);
        std::this_thread::yield();
      }
      const bool cancels = random() % 4 == 0;
      if (cancels && random() % 2 == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random() % 3000));
      if (cancels) engine->Cancel(call.request.id);
      calls.emplace_back(std::move(call), cancels);
    }
    for (auto& [call, cancels] : calls) {
      const TokenDelta last = call.listener->Wait();
      const FakeAnswer answer = ExpectAnswer(call.request, 0, kVocab);
      const std::vector<int32_t>& tokens = call.listener->tokens();
      ASSERT_LE(tokens.size(), answer.tokens.size());
      EXPECT_TRUE(std::equal(tokens.begin(), tokens.end(), answer.tokens.begin()));
      if (!cancels || last.finish != FinishReason::kCancelled) {
        EXPECT_EQ(last.finish, answer.finish);
        EXPECT_EQ(tokens, answer.tokens);
      }
      EXPECT_EQ(last.usage.completion_tokens, static_cast<int32_t>(tokens.size()));
      num_tokens += tokens.size();
      ++num_answers;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t i = 0; i < 4; ++i) threads.emplace_back(client, i);
  for (std::thread& thread : threads) thread.join();
  ExpectAtRest(engine.get());
  EXPECT_EQ(num_answers, 240U);
  const EngineCounters counters = engine->Counters();
  EXPECT_EQ(counters.generated_tokens, num_tokens);
  EXPECT_EQ(counters.finished_stop + counters.finished_length + counters.finished_cancelled, 240U);
  EXPECT_EQ(counters.finished_error, 0U);
}

TEST(Engine, Case50StopStringOverTokensEndsTheRequestAndNothingBehindItCounts) {
  auto engine = MakeEngine(SmallEngine(), 200'000);
  for (const size_t length : {1, 2, 5}) {
    for (const bool include : {false, true}) {
      Call call = MakeCall(engine.get(), 3, 20, 100);
      const std::string whole = TextOf(ExpectAnswer(call.request, 0, kVocab).tokens);
      const std::string stop = whole.substr(17, length);
      call.request.stop.stop_strings = {"never there", stop};
      call.request.stop.include_stop_string = include;
      ASSERT_TRUE(engine->Submit(call.request).ok());
      const TokenDelta last = call.listener->Wait();
      const size_t found = whole.find(stop);
      EXPECT_EQ(call.listener->text(), whole.substr(0, found + (include ? length : 0)));
      EXPECT_EQ(last.finish, FinishReason::kStop);
      EXPECT_EQ(last.matched_stop_string, stop);
      EXPECT_EQ(last.usage.completion_tokens, static_cast<int32_t>(found + length));
      EXPECT_EQ(call.listener->tokens().size(), found + length);
    }
  }
  ExpectAtRest(engine.get());
  EXPECT_EQ(engine->Counters().finished_stop, 6U);
  EXPECT_EQ(engine->Counters().finished_cancelled, 0U)
      << "the cancel that follows a stop string is not an end";
}

TEST(Engine, Case51HeldBackTextComesOutAtTheEnd) {
  auto engine = MakeEngine(SmallEngine());
  Call call = MakeCall(engine.get(), 3, 20, 30);
  const std::string whole = TextOf(ExpectAnswer(call.request, 0, kVocab).tokens);
  call.request.stop.stop_strings = {whole.substr(20) + "never"};
  ASSERT_TRUE(engine->Submit(call.request).ok());
  EXPECT_EQ(call.listener->Wait().finish, FinishReason::kLength);
  EXPECT_EQ(call.listener->text(), whole);
}

TEST(Engine, Case82StopStringsWaitForMinTokens) {
  auto engine = MakeEngine(SmallEngine());
  Call call = MakeCall(engine.get(), 3, 20, 60);
  const std::string whole = TextOf(ExpectAnswer(call.request, 0, kVocab).tokens);
  call.request.stop.stop_strings = {whole.substr(2, 1), whole.substr(40, 1)};
  call.request.stop.min_tokens = 30;
  ASSERT_TRUE(engine->Submit(call.request).ok());
  const TokenDelta last = call.listener->Wait();
  EXPECT_EQ(last.finish, FinishReason::kStop);
  EXPECT_GT(last.usage.completion_tokens, 30);
  EXPECT_LE(last.usage.completion_tokens, 41);
}

TEST(Engine, StopTokenIsCountedAndIsNoText) {
  auto engine = MakeEngine(SmallEngine());
  Call call = MakeCall(engine.get(), 4, 20, 60);
  const std::vector<int32_t> whole = ExpectAnswer(call.request, 0, kVocab).tokens;
  call.request.stop.stop_token_ids = {whole[10]};
  const std::vector<int32_t> expected = ExpectAnswer(call.request, 0, kVocab).tokens;
  ASSERT_TRUE(engine->Submit(call.request).ok());
  const TokenDelta last = call.listener->Wait();
  EXPECT_EQ(last.matched_stop_token, whole[10]);
  EXPECT_EQ(call.listener->tokens(), expected);
  EXPECT_EQ(last.usage.completion_tokens, static_cast<int32_t>(expected.size()));
  EXPECT_EQ(call.listener->text(), TextOf({expected.begin(), expected.end() - 1}));
}

TEST(Engine, RefusesAtTheDoorByName) {
  EngineConfig config = SmallEngine();
  auto engine = MakeEngine(config, 0, nullptr);
  Call call = MakeCall(engine.get(), 1, 10, 10);
  call.request.stop.stop_strings = {"x"};
  EXPECT_EQ(engine->Submit(call.request).code(), StatusCode::kInvalidArgument)
      << "no tokenizer, no text to search";
  call.request.stop.stop_strings.clear();
  call.request.stop.max_tokens = 591;
  EXPECT_EQ(engine->Submit(call.request).code(), StatusCode::kInvalidArgument);
  call.request.sink = nullptr;
  EXPECT_EQ(engine->Submit(call.request).code(), StatusCode::kInvalidArgument);
  EXPECT_FALSE(call.listener->HasEnded());
  auto with_text = MakeEngine(config);
  call = MakeCall(with_text.get(), 1, 10, 10);
  call.request.stop.stop_strings = {""};
  EXPECT_EQ(with_text->Submit(call.request).code(), StatusCode::kInvalidArgument);
}

TEST(Engine, Case102QueueLimitRefusesAndAcceptedOnesFinish) {
  EngineConfig config = SmallEngine();
  config.scheduler.max_num_seqs = 2;
  config.scheduler.max_num_queued = 3;
  auto engine = MakeEngine(config, 1'000'000);
  std::vector<Call> accepted;
  int num_refused = 0;
  for (uint64_t i = 0; i < 50; ++i) {
    Call call = MakeCall(engine.get(), i, 10, 20);
    const Status status = engine->Submit(call.request);
    if (status.ok()) {
      accepted.push_back(call);
    } else {
      EXPECT_EQ(status.code(), StatusCode::kResourceExhausted);
      ++num_refused;
    }
  }
  EXPECT_GE(accepted.size(), 5U);
  EXPECT_GT(num_refused, 20);
  for (Call& call : accepted) EXPECT_EQ(call.listener->Wait().finish, FinishReason::kLength);
  EXPECT_EQ(Submit(engine.get(), 1, 10, 2).listener->Wait().finish, FinishReason::kLength)
      << "there is room again";
  ExpectAtRest(engine.get());
}

TEST(Engine, Case98ABlockedSinkDoesNotStopTheEngine) {
  auto engine = MakeEngine(SmallEngine(), 100'000);
  std::mutex gate;
  Call blocked = MakeCall(engine.get(), 1, 10, 500);
  blocked.listener->on_delta = [&](const TokenDelta&) { const std::lock_guard wait(gate); };
  gate.lock();
  ASSERT_TRUE(engine->Submit(blocked.request).ok());
  const auto begin = Clock::now();
  while (engine->Counters().num_steps < 300 && Clock::now() - begin < std::chrono::seconds(60)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_GE(engine->Counters().num_steps, 300U);
  EXPECT_EQ(blocked.listener->num_tokens(), 0U);
  engine->Cancel(blocked.request.id);
  gate.unlock();
  blocked.listener->Wait();
  ExpectAtRest(engine.get());
}

TEST(Engine, SinkMayCancelFromItsCallback) {
  auto engine = MakeEngine(SmallEngine(), 200'000);
  Call call = MakeCall(engine.get(), 1, 10, 400);
  call.listener->on_delta = [&, id = call.request.id](const TokenDelta&) { engine->Cancel(id); };
  ASSERT_TRUE(engine->Submit(call.request).ok());
  EXPECT_EQ(call.listener->Wait().finish, FinishReason::kCancelled);
  EXPECT_LT(call.listener->tokens().size(), 300U);
  ExpectAtRest(engine.get());
}

TEST(Engine, Case99DrainLetsStreamsFinishAndRefusesNewOnes) {
  auto engine = MakeEngine(SmallEngine(), 500'000);
  std::vector<Call> calls;
  for (uint64_t i = 0; i < 10; ++i) calls.push_back(Submit(engine.get(), i, 20, 40));
  EXPECT_FALSE(engine->Drain(Clock::now())) << "the deadline comes first";
  EXPECT_EQ(engine->Submit(MakeCall(engine.get(), 1, 1, 1).request).code(), StatusCode::kUnavailable);
  EXPECT_TRUE(engine->Drain(Clock::now() + std::chrono::seconds(60)));
  for (Call& call : calls) {
    EXPECT_TRUE(call.listener->HasEnded());
    EXPECT_EQ(call.listener->Wait().finish, FinishReason::kLength);
  }
}

TEST(Engine, Case57DestructionCancelsAndNeverSaysLength) {
  std::vector<Call> calls;
  {
    auto engine = MakeEngine(SmallEngine(), 1'000'000);
    for (uint64_t i = 0; i < 20; ++i) calls.push_back(Submit(engine.get(), i, 20, 500));
  }
  for (Call& call : calls) {
    ASSERT_TRUE(call.listener->HasEnded());
    EXPECT_EQ(call.listener->Wait().finish, FinishReason::kCancelled);
  }
}

TEST(Engine, DeadlineEndsARequestThatWouldRunLonger) {
  auto engine = MakeEngine(SmallEngine(), 1'000'000);
  Call call = MakeCall(engine.get(), 1, 10, 500);
  call.request.deadline = Clock::now() + std::chrono::milliseconds(50);
  ASSERT_TRUE(engine->Submit(call.request).ok());
  const TokenDelta last = call.listener->Wait();
  EXPECT_EQ(last.finish, FinishReason::kError);
  EXPECT_EQ(last.error.code(), StatusCode::kDeadlineExceeded);
  ExpectAtRest(engine.get());
}

TEST(Engine, Case111IdleUsesNoProcessorTime) {
  auto engine = MakeEngine(SmallEngine());
  Submit(engine.get(), 1, 10, 5).listener->Wait();
  ExpectAtRest(engine.get());
  const auto cpu_ns = [] {
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1'000'000'000LL + time.tv_nsec;
  };
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const int64_t before = cpu_ns();
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  EXPECT_LT(cpu_ns() - before, 5'000'000) << "1 % of the time";
}

}  // namespace
}  // namespace firebrick
