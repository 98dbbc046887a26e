// Promise 7: the same request gives the same bits, whatever else is in the batch, however its prompt is cut,
// found in the cache or computed again after a preemption, on any number of threads and every level of the
// instruction set. The whole distribution of every token is compared with ==, through the engine and its real
// executor.

#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <sstream>

#include <gtest/gtest.h>

#include "cli/make_model.h"
#include "cli/model_session.h"

namespace firebrick {
namespace {

struct Answer {
  std::vector<int32_t> tokens;
  std::vector<float> prompt_logprobs;  // of prompt tokens 1, 2, ...
  std::vector<float> logprobs;         // of the whole vocabulary for each token, best first
  int32_t cached_tokens = 0;
  int32_t num_preemptions = 0;
  Status error;
  bool done = false;
};

class Collector final : public TokenSink {
 public:
  void OnDelta(TokenDelta delta) override {
    const std::lock_guard lock(mutex_);
    answer_.tokens.insert(answer_.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    for (const TokenLogprob& logprob : delta.logprobs) {
      for (const auto& [token, value] : logprob.top) {
        answer_.tokens.push_back(token);
        answer_.logprobs.push_back(value);
      }
    }
    for (const TokenLogprob& logprob : delta.prompt_logprobs)
      answer_.prompt_logprobs.push_back(logprob.logprob);
    if (!delta.finish) return;
    answer_.error = delta.error;
    answer_.cached_tokens = delta.usage.cached_tokens;
    answer_.num_preemptions = delta.timings.num_preemptions;
    answer_.done = true;
    ready_.notify_all();
  }
  Answer Wait() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return answer_.done; });
    return answer_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  Answer answer_;
};

// A model of `shape` in `type`, made once for all tests.
std::string ModelFile(const std::string& shape, const std::string& type) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("firebrick_same_bits_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const auto file = folder / (shape + "-" + type + ".gguf");
  if (!std::filesystem::exists(file)) {
    std::ostringstream out;
    MakeModelOptions options;
    options.shape = shape;
    options.out = file.string();
    options.type = type;
    const Status status = MakeModel(options, out);
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  return file.string();
}

struct EngineSetup {
  std::string isa = "auto";
  int32_t threads = 2;
  int32_t max_num_batched_tokens = 2048;
  int32_t num_blocks = 0;  // 0: plenty
};

std::unique_ptr<ModelSession> Start(const std::string& path, const EngineSetup& setting) {
  ModelOptions model;
  model.model = path;
  model.isa.value = setting.isa;
  model.threads.value = setting.threads;
  auto loaded = LoadModel(model, /*quiet=*/true);
  EXPECT_TRUE(loaded.ok()) << loaded.status().ToString();
  const size_t page_bytes = loaded->model->MakeKvGeometry(loaded->kv_dtype).page_bytes();
  EngineOptions engine;
  engine.max_num_batched_tokens.value = setting.max_num_batched_tokens;
  engine.max_num_seqs.value = 16;
  engine.max_model_len.value = 512;
  engine.kv_cache_memory_bytes.value =
      page_bytes * static_cast<size_t>(setting.num_blocks > 0 ? setting.num_blocks : 2000);
  auto session = StartSession(std::move(*loaded), engine, {});
  EXPECT_TRUE(session.ok()) << session.status().ToString();
  return std::move(*session);
}

std::vector<int32_t> Prompt(int32_t seed, int32_t length, int32_t vocab_size) {
  std::vector<int32_t> tokens;
  uint32_t state = static_cast<uint32_t>(seed) * 2654435761U + 12345;
  for (int32_t i = 0; i < length; ++i) {
    state = state * 1664525 + 1013904223;
    tokens.push_back(static_cast<int32_t>((state >> 8) % static_cast<uint32_t>(vocab_size)));
  }
  return tokens;
}

std::shared_ptr<Collector> Submit(ModelSession& session, const std::vector<int32_t>& prompt,
                                  int32_t max_tokens, int32_t num_prompt_logprobs = -1) {
  GenerateRequest request;
  request.id = session.engine->NewRequestId();
  request.prompt = prompt;
  request.sampling.temperature = 0.8F;
  request.sampling.seed = 7;
  request.sampling.num_logprobs = 64;
  request.sampling.num_prompt_logprobs = num_prompt_logprobs;
  request.stop.max_tokens = max_tokens;
  auto sink = std::make_shared<Collector>();
  request.sink = sink;
  const Status status = session.engine->Submit(std::move(request));
  EXPECT_TRUE(status.ok()) << status.ToString();
  return sink;
}

Answer Ask(ModelSession& session, const std::vector<int32_t>& prompt, int32_t max_tokens = 40) {
  return Submit(session, prompt, max_tokens)->Wait();
}

void ExpectSame(const Answer& want, const Answer& got) {
  EXPECT_TRUE(got.error.ok()) << got.error.ToString();
  EXPECT_EQ(want.tokens, got.tokens);
  EXPECT_EQ(want.logprobs, got.logprobs);
}

class SameBits : public testing::TestWithParam<std::pair<const char*, const char*>> {
 protected:
  std::string path() const { return ModelFile(GetParam().first, GetParam().second); }
};

TEST_P(SameBits, PrefixHitChunksThreadsAndLevels) {
  const auto reference = Start(path(), {});
  const int32_t vocab_size = reference->loaded.tokenizer.vocab_size();
  const auto prompt = Prompt(1, 150, vocab_size);
  const Answer cold = Ask(*reference, prompt);
  EXPECT_EQ(cold.cached_tokens, 0);
  ASSERT_EQ(cold.logprobs.size(), 40U * 64U);
  const Answer warm = Ask(*reference, prompt);
  EXPECT_GE(warm.cached_tokens, 96);
  ExpectSame(cold, warm);

  for (const int32_t chunk : {48, 64, 512}) {
    ExpectSame(cold, Ask(*Start(path(), {.max_num_batched_tokens = chunk}), prompt));
  }
  ExpectSame(cold, Ask(*Start(path(), {.threads = 1}), prompt));
  for (const IsaLevel level : AvailableLevels()) {
    ExpectSame(cold, Ask(*Start(path(), {.isa = std::string(NameOf(level))}), prompt));
  }
}

TEST_P(SameBits, InACrowdAndPreempted) {
  const auto roomy = Start(path(), {});
  const int32_t vocab_size = roomy->loaded.tokenizer.vocab_size();
  std::map<int32_t, Answer> alone;
  for (int32_t i = 0; i < 16; ++i) alone[i] = Ask(*roomy, Prompt(i, 20 + 9 * i, vocab_size), 120);

  const auto crowd = Start(path(), {.max_num_batched_tokens = 128});
  std::vector<std::shared_ptr<Collector>> sinks;
  for (int32_t i = 0; i < 16; ++i) sinks.push_back(Submit(*crowd, Prompt(i, 20 + 9 * i, vocab_size), 120));
  for (int32_t i = 0; i < 16; ++i) ExpectSame(alone[i], sinks[static_cast<size_t>(i)]->Wait());

  // A pool that holds a quarter of what the crowd wants: somebody is preempted, nobody notices.
  const auto groups = static_cast<int32_t>(crowd->resolved.config.scheduler.groups.size());
  const auto tight = Start(path(), {.num_blocks = 20 * groups});
  sinks.clear();
  for (int32_t i = 0; i < 16; ++i) sinks.push_back(Submit(*tight, Prompt(i, 20 + 9 * i, vocab_size), 120));
  int32_t num_preemptions = 0;
  for (int32_t i = 0; i < 16; ++i) {
    const Answer answer = sinks[static_cast<size_t>(i)]->Wait();
    ExpectSame(alone[i], answer);
    num_preemptions += answer.num_preemptions;
  }
  EXPECT_GT(num_preemptions, 0);
}

TEST_P(SameBits, PromptLogprobsHoweverThePromptIsCut) {
  const auto whole = Start(path(), {});
  const auto prompt = Prompt(3, 150, whole->loaded.tokenizer.vocab_size());
  const Answer plain = Ask(*whole, prompt, 1);
  const Answer scored = Submit(*whole, prompt, 1, 0)->Wait();  // the prefix is in the cache, and still scored
  ASSERT_EQ(scored.prompt_logprobs.size(), prompt.size() - 1);
  ExpectSame(plain, scored);
  const auto cut = Start(path(), {.max_num_batched_tokens = 48});
  EXPECT_EQ(Submit(*cut, prompt, 1, 0)->Wait().prompt_logprobs, scored.prompt_logprobs);
  // The score of a prompt's last token is what a shorter prompt would have given it.
  const std::vector<int32_t> shorter(prompt.begin(), prompt.end() - 1);
  EXPECT_EQ(Submit(*cut, shorter, 1, 0)->Wait().prompt_logprobs,
            std::vector<float>(scored.prompt_logprobs.begin(), scored.prompt_logprobs.end() - 1));
}

INSTANTIATE_TEST_SUITE_P(Models, SameBits,
                         testing::Values(std::pair{"tiny-llama", "f32"}, std::pair{"tiny-llama", "bf16"},
                                         std::pair{"tiny-llama", "q4_0"}, std::pair{"tiny-qwen3", "q8_0"},
                                         std::pair{"tiny-gemma3", "q4_1"}, std::pair{"tiny-gemma3", "f16"}),
                         [](const auto& info) {
                           std::string name = std::string(info.param.first) + "_" + info.param.second;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace firebrick
