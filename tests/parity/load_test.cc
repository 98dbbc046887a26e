// Loading: what is refused and how it is said, and how much is resident twice.
#include <algorithm>
#include <atomic>
#include <fstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/json.h"
#include "golden.h"

namespace firebrick {
namespace {

using testing::HasSubstr;

Status LoadStatus(const std::string& path) {
  ThreadPool pool(ThreadPoolOptions{});
  const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  if (!checkpoint.ok()) return checkpoint.status();
  const Result<std::unique_ptr<Model>> model = Model::Load(*checkpoint, {BestOps(), pool});
  return model.ok() ? OkStatus() : model.status();
}

class LoadTest : public testing::Test {
 protected:
  Status LoadWith(const Golden& golden) {
    return LoadStatus(WriteSafetensors(golden, WeightType::kF32, folder_.path()));
  }
  TemporaryFolder folder_;
};

TEST_F(LoadTest, RefusesAMissingTensorByName) {
  Golden golden = ReadGolden("qwen3");
  std::erase_if(golden.tensors,
                [](const auto& t) { return t.name == "model.layers.1.self_attn.k_norm.weight"; });
  const Status status = LoadWith(golden);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("'model.layers.1.self_attn.k_norm.weight' of shape [32] is missing"));
}

TEST_F(LoadTest, RefusesASurplusTensorByName) {
  Golden golden = ReadGolden("llama2");
  golden.tensors.push_back({"model.layers.0.self_attn.q_proj.bias", {64}});
  const Status status = LoadWith(golden);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(),
              HasSubstr("'model.layers.0.self_attn.q_proj.bias' of shape [64] has no place"));
}

TEST_F(LoadTest, RefusesAMisShapedTensorWithBothShapes) {
  Golden golden = ReadGolden("llama2");
  golden.config["intermediate_size"] = 128;
  const Status status = LoadWith(golden);
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("has shape [96, 64], but the configuration asks for [128, 64]"));
}

TEST_F(LoadTest, IgnoresATiedOutputMatrixAndOldRopeTables) {
  Golden golden = ReadGolden("llama3");
  golden.tensors.push_back({"lm_head.weight", {260, 64}});
  golden.tensors.push_back({"model.layers.0.self_attn.rotary_emb.inv_freq", {8}});
  EXPECT_TRUE(LoadWith(golden).ok()) << LoadWith(golden).ToString();
}

struct BadField {
  const char* golden;
  const char* field;
  const char* value;  // JSON
  const char* message;
};

class BadFieldTest : public LoadTest, public testing::WithParamInterface<BadField> {};

TEST_P(BadFieldTest, IsRefusedByName) {
  Golden golden = ReadGolden(GetParam().golden);
  golden.config[GetParam().field] = ParseJson(GetParam().value).value();
  EXPECT_THAT(LoadWith(golden).message(), HasSubstr(GetParam().message));
}

INSTANTIATE_TEST_SUITE_P(
    Parity, BadFieldTest,
    testing::Values(
        BadField{"llama2", "model_type", "\"llama9\"",
                 "model_type 'llama9' is not supported; supported are llama"},
        BadField{"llama2", "rope_scaling", R"({"rope_type":"longrope","factor":2})", "rope type 'longrope'"},
        BadField{"llama2", "rope_scaling", R"({"rope_type":"dynamic","factor":2})", "rope type 'dynamic'"},
        BadField{"llama2", "rope_scaling", R"({"rope_type":"linear","factor":-1})", "out of range"},
        BadField{"llama2", "hidden_act", "\"relu\"", "hidden_act 'relu' is not supported"},
        BadField{"llama2", "num_key_value_heads", "3", "do not fit together"},
        BadField{"llama2", "num_hidden_layers", "0", "the number of layers is 0"},
        BadField{"llama2", "num_hidden_layers", "\"many\"", "'num_hidden_layers' must be a whole number"},
        BadField{"llama2", "hidden_size", "99999999999", "'hidden_size' must be a whole number below 2^31"},
        BadField{"llama2", "quantization_config", R"({"quant_method":"gptq"})",
                 "the weights are quantised by 'gptq'"},
        BadField{"gemma3_v5", "layer_types",
                 R"(["full_attention","chunked_attention","full_attention","full_attention"])",
                 "layer type 'chunked_attention'"},
        BadField{"gemma3_v5", "final_logit_softcapping", "30.0", "'final_logit_softcapping'"},
        BadField{"gemma3_v5", "use_bidirectional_attention", "true", "'use_bidirectional_attention'"},
        BadField{"smollm3", "no_rope_layers", "[1, 1]", "no_rope_layers has 2 entries for 4 layers"}),
    [](const auto& info) { return std::string(info.param.field) + std::to_string(info.index); });

TEST_F(LoadTest, WrappedGemmaLoadsFromItsTextConfig) {
  Golden golden = ReadGolden("gemma3_v5");
  Json wrapper = {{"model_type", "gemma3"}, {"eos_token_id", {1, 106}}, {"text_config", golden.config}};
  wrapper["text_config"].erase("eos_token_id");
  golden.config = wrapper;
  for (GoldenTensor& tensor : golden.tensors) tensor.name = "language_model." + tensor.name;
  golden.tensors.push_back({"vision_tower.vision_model.head.weight", {4, 4}});
  const LoadedModel loaded =
      LoadModel(WriteSafetensors(golden, WeightType::kF32, folder_.path()), BestOps(), 1);
  ASSERT_NE(loaded.model, nullptr);
  EXPECT_EQ(loaded.model->config().eos_token_ids, (std::vector<int32_t>{1, 106}));
}

TEST_F(LoadTest, DigestsTellModelsApart) {
  Golden golden = ReadGolden("llama2");
  const auto digest = [&] {
    return LoadModel(WriteSafetensors(golden, WeightType::kF32, folder_.path()), BestOps(), 2)
        .model->weight_digest();
  };
  const Digest256 first = digest();
  EXPECT_EQ(digest(), first);
  golden.config["rope_theta"] = 20000.0;
  EXPECT_NE(digest(), first);
}

// Bytes of /proc/self/status, such as "RssFile:".
uint64_t ProcessBytes(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(key, 0) == 0) return std::stoull(line.substr(key.size())) * 1024;
  }
  return 0;
}

// A model of 217 MB: packing it must not hold more than 64 MiB of its file in memory at a time.
TEST_F(LoadTest, DropsFilePagesAsTheyArePacked) {
  constexpr uint64_t kLimit = 64 << 20;
  Golden golden;
  golden.name = "large";
  golden.config = ReadGolden("llama2").config;
  golden.config.update(Json{{"hidden_size", 1024},
                            {"intermediate_size", 4096},
                            {"num_hidden_layers", 2},
                            {"num_attention_heads", 8},
                            {"num_key_value_heads", 8},
                            {"vocab_size", 10000}});
  golden.tensors = {{"model.embed_tokens.weight", {10000, 1024}},
                    {"model.norm.weight", {1024}},
                    {"lm_head.weight", {10000, 1024}}};
  for (int layer = 0; layer < 2; ++layer) {
    const std::string prefix = "model.layers." + std::to_string(layer) + ".";
    for (const char* name : {"q", "k", "v", "o"}) {
      golden.tensors.push_back({prefix + "self_attn." + name + "_proj.weight", {1024, 1024}});
    }
    golden.tensors.push_back({prefix + "mlp.gate_proj.weight", {4096, 1024}});
    golden.tensors.push_back({prefix + "mlp.up_proj.weight", {4096, 1024}});
    golden.tensors.push_back({prefix + "mlp.down_proj.weight", {1024, 4096}});
    golden.tensors.push_back({prefix + "input_layernorm.weight", {1024}});
    golden.tensors.push_back({prefix + "post_attention_layernorm.weight", {1024}});
  }
  const std::string path = WriteSafetensors(golden, WeightType::kF32, folder_.path());

  const uint64_t file_before = ProcessBytes("RssFile:");
  std::atomic<bool> done{false};
  uint64_t file_peak = 0;
  std::thread sampler([&] {
    while (!done.load()) {
      file_peak = std::max(file_peak, ProcessBytes("RssFile:"));
      std::this_thread::sleep_for(std::chrono::microseconds(300));
    }
  });
  const LoadedModel loaded = LoadModel(path, BestOps(), 2);
  done.store(true);
  sampler.join();
  ASSERT_NE(loaded.model, nullptr);
  EXPECT_GT(loaded.model->resident_bytes(), uint64_t{200} << 20);
  const uint64_t twice = file_peak > file_before ? file_peak - file_before : 0;
  printf("resident twice at the most: %.1f MiB of %.1f MiB\n", static_cast<double>(twice) / (1 << 20),
         static_cast<double>(loaded.model->resident_bytes()) / (1 << 20));
  EXPECT_LE(twice, kLimit);
}

}  // namespace
}  // namespace firebrick
