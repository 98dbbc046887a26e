#include "weights/synthetic/shape.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "weights/quantize.h"

namespace firebrick {
namespace {

// The real ones: published configurations. The tiny ones: K types fit (multiples of 256), a grouped-query
// ratio of 2, more than one layer of every kind.
constexpr std::array kShapes = {
    ModelShape{.name = "llama-1b",
               .gguf_arch = "llama",
               .hf_type = "llama",
               .hf_class = "LlamaForCausalLM",
               .num_layers = 16,
               .hidden = 2048,
               .ffn = 8192,
               .num_heads = 32,
               .num_kv_heads = 8,
               .head_dim = 64,
               .vocab = 128256,
               .context = 131072,
               .rope_theta = 500000},
    ModelShape{.name = "smollm2-135m",
               .gguf_arch = "llama",
               .hf_type = "llama",
               .hf_class = "LlamaForCausalLM",
               .num_layers = 30,
               .hidden = 576,
               .ffn = 1536,
               .num_heads = 9,
               .num_kv_heads = 3,
               .head_dim = 64,
               .vocab = 49152,
               .context = 8192,
               .rope_theta = 100000},
    ModelShape{.name = "qwen3-0.6b",
               .gguf_arch = "qwen3",
               .hf_type = "qwen3",
               .hf_class = "Qwen3ForCausalLM",
               .num_layers = 28,
               .hidden = 1024,
               .ffn = 3072,
               .num_heads = 16,
               .num_kv_heads = 8,
               .head_dim = 128,
               .vocab = 151936,
               .context = 40960,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qk_norm = true},
    ModelShape{.name = "gemma3-270m",
               .gguf_arch = "gemma3",
               .hf_type = "gemma3_text",
               .hf_class = "Gemma3ForCausalLM",
               .num_layers = 18,
               .hidden = 640,
               .ffn = 2048,
               .num_heads = 4,
               .num_kv_heads = 1,
               .head_dim = 256,
               .vocab = 262144,
               .context = 32768,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qk_norm = true,
               .sandwich_norms = true,
               .sliding_window = 512,
               .sliding_pattern = 6},
    ModelShape{.name = "gemma3-1b",
               .gguf_arch = "gemma3",
               .hf_type = "gemma3_text",
               .hf_class = "Gemma3ForCausalLM",
               .num_layers = 26,
               .hidden = 1152,
               .ffn = 6912,
               .num_heads = 4,
               .num_kv_heads = 1,
               .head_dim = 256,
               .vocab = 262144,
               .context = 32768,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qk_norm = true,
               .sandwich_norms = true,
               .sliding_window = 512,
               .sliding_pattern = 6},
    ModelShape{.name = "tiny-llama",
               .gguf_arch = "llama",
               .hf_type = "llama",
               .hf_class = "LlamaForCausalLM",
               .num_layers = 4,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 4,
               .num_kv_heads = 2,
               .head_dim = 64,
               .vocab = 1024,
               .context = 2048},
    ModelShape{.name = "tiny-mistral",
               .gguf_arch = "llama",
               .hf_type = "mistral",
               .hf_class = "MistralForCausalLM",
               .num_layers = 4,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 8,
               .num_kv_heads = 4,
               .head_dim = 32,
               .vocab = 1024,
               .context = 2048,
               .tied_embeddings = false},
    ModelShape{.name = "tiny-qwen2",
               .gguf_arch = "qwen2",
               .hf_type = "qwen2",
               .hf_class = "Qwen2ForCausalLM",
               .num_layers = 4,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 4,
               .num_kv_heads = 2,
               .head_dim = 64,
               .vocab = 1024,
               .context = 2048,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qkv_bias = true},
    ModelShape{.name = "tiny-qwen3",
               .gguf_arch = "qwen3",
               .hf_type = "qwen3",
               .hf_class = "Qwen3ForCausalLM",
               .num_layers = 4,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 4,
               .num_kv_heads = 2,
               .head_dim = 128,
               .vocab = 1024,
               .context = 2048,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qk_norm = true},
    ModelShape{.name = "tiny-gemma3",
               .gguf_arch = "gemma3",
               .hf_type = "gemma3_text",
               .hf_class = "Gemma3ForCausalLM",
               .num_layers = 7,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 4,
               .num_kv_heads = 2,
               .head_dim = 64,
               .vocab = 1024,
               .context = 2048,
               .rope_theta = 1000000,
               .norm_eps = 1e-6F,
               .qk_norm = true,
               .sandwich_norms = true,
               .sliding_window = 64,
               .sliding_pattern = 6},
    ModelShape{.name = "tiny-smollm3",
               .gguf_arch = "smollm3",
               .hf_type = "smollm3",
               .hf_class = "SmolLM3ForCausalLM",
               .num_layers = 4,
               .hidden = 256,
               .ffn = 512,
               .num_heads = 4,
               .num_kv_heads = 2,
               .head_dim = 64,
               .vocab = 1024,
               .context = 2048,
               .rope_theta = 50000,
               .norm_eps = 1e-6F,
               .nope_interval = 4},
};

// Collects tensors under the names of one file format.
class TensorList {
 public:
  TensorList(CheckpointKind kind, WeightType type) : gguf_(kind == CheckpointKind::kGguf), type_(type) {}

  void Matrix(std::string_view gguf_name, std::string_view hf_name, int64_t rows, int64_t cols) {
    Add(gguf_name, hf_name, ".weight", FallbackType(type_, cols), {rows, cols}, TensorFill::kNormal);
  }
  void Norm(std::string_view gguf_name, std::string_view hf_name, int64_t size, bool adds_one) {
    // Converters fold the 1 into the weight that GGUF files hold.
    const TensorFill fill = adds_one && !gguf_ ? TensorFill::kZeros : TensorFill::kOnes;
    Add(gguf_name, hf_name, ".weight", gguf_ ? WeightType::kF32 : type_, {size}, fill);
  }
  void Bias(std::string_view gguf_name, std::string_view hf_name, int64_t size) {
    Add(gguf_name, hf_name, ".bias", gguf_ ? WeightType::kF32 : type_, {size}, TensorFill::kNormal);
  }
  void BeginLayer(int64_t layer) {
    prefix_ = gguf_ ? fmt::format("blk.{}.", layer) : fmt::format("model.layers.{}.", layer);
  }
  void EndLayers() { prefix_.clear(); }
  std::vector<SyntheticTensor> Take() { return std::move(tensors_); }

 private:
  void Add(std::string_view gguf_name, std::string_view hf_name, std::string_view suffix, WeightType type,
           std::vector<int64_t> shape, TensorFill fill) {
    const std::string name = prefix_ + std::string(gguf_ ? gguf_name : hf_name) + std::string(suffix);
    tensors_.push_back({{name, type, std::move(shape)}, fill});
  }
  bool gguf_;
  WeightType type_;
  std::string prefix_;
  std::vector<SyntheticTensor> tensors_;
};

void AddLayer(const ModelShape& shape, TensorList* list) {
  const int64_t q_size = shape.num_heads * shape.head_dim;
  const int64_t kv_size = shape.num_kv_heads * shape.head_dim;
  const bool gemma = shape.sandwich_norms;
  list->Norm("attn_norm", "input_layernorm", shape.hidden, gemma);
  list->Matrix("attn_q", "self_attn.q_proj", q_size, shape.hidden);
  list->Matrix("attn_k", "self_attn.k_proj", kv_size, shape.hidden);
  list->Matrix("attn_v", "self_attn.v_proj", kv_size, shape.hidden);
  if (shape.qkv_bias) {
    list->Bias("attn_q", "self_attn.q_proj", q_size);
    list->Bias("attn_k", "self_attn.k_proj", kv_size);
    list->Bias("attn_v", "self_attn.v_proj", kv_size);
  }
  if (shape.qk_norm) {
    list->Norm("attn_q_norm", "self_attn.q_norm", shape.head_dim, gemma);
    list->Norm("attn_k_norm", "self_attn.k_norm", shape.head_dim, gemma);
  }
  list->Matrix("attn_output", "self_attn.o_proj", shape.hidden, q_size);
  if (gemma) {
    list->Norm("post_attention_norm", "post_attention_layernorm", shape.hidden, gemma);
    list->Norm("ffn_norm", "pre_feedforward_layernorm", shape.hidden, gemma);
    list->Norm("post_ffw_norm", "post_feedforward_layernorm", shape.hidden, gemma);
  } else {
    list->Norm("ffn_norm", "post_attention_layernorm", shape.hidden, gemma);
  }
  list->Matrix("ffn_gate", "mlp.gate_proj", shape.ffn, shape.hidden);
  list->Matrix("ffn_up", "mlp.up_proj", shape.ffn, shape.hidden);
  list->Matrix("ffn_down", "mlp.down_proj", shape.hidden, shape.ffn);
}

// general.file_type, as llama.cpp numbers them.
uint32_t FileTypeOf(WeightType type) {
  static constexpr std::pair<WeightType, uint32_t> kNumbers[] = {
      {WeightType::kF32, 0},     {WeightType::kF16, 1},     {WeightType::kQ4_0, 2},  {WeightType::kQ4_1, 3},
      {WeightType::kQ8_0, 7},    {WeightType::kQ5_0, 8},    {WeightType::kQ5_1, 9},  {WeightType::kQ2_K, 10},
      {WeightType::kQ3_K, 11},   {WeightType::kQ4_K, 14},   {WeightType::kQ5_K, 16}, {WeightType::kQ6_K, 18},
      {WeightType::kIQ4_NL, 25}, {WeightType::kIQ4_XS, 30}, {WeightType::kBF16, 32}};
  const auto* found = std::find_if(std::begin(kNumbers), std::end(kNumbers),
                                   [&](const auto& entry) { return entry.first == type; });
  return found->second;
}

}  // namespace

std::span<const ModelShape> ModelShapes() { return kShapes; }

const ModelShape* FindModelShape(std::string_view name) {
  const auto* found =
      std::find_if(kShapes.begin(), kShapes.end(), [&](const ModelShape& s) { return s.name == name; });
  return found == kShapes.end() ? nullptr : found;
}

std::vector<SyntheticTensor> TensorsOf(const ModelShape& shape, CheckpointKind kind, WeightType type) {
  TensorList list(kind, type);
  list.Matrix("token_embd", "model.embed_tokens", shape.vocab, shape.hidden);
  for (int64_t i = 0; i < shape.num_layers; ++i) {
    list.BeginLayer(i);
    AddLayer(shape, &list);
  }
  list.EndLayers();
  list.Norm("output_norm", "model.norm", shape.hidden, shape.sandwich_norms);
  if (!shape.tied_embeddings) list.Matrix("output", "lm_head", shape.vocab, shape.hidden);
  return list.Take();
}

GgufMetadata GgufMetadataOf(const ModelShape& shape, WeightType type) {
  GgufMetadata metadata;
  const std::string arch(shape.gguf_arch);
  const auto number = [&](std::string_view key, int64_t value) {
    metadata.emplace_back(arch + "." + std::string(key), static_cast<uint32_t>(value));
  };
  metadata.emplace_back("general.architecture", arch);
  metadata.emplace_back("general.type", "model");
  metadata.emplace_back("general.name", fmt::format("{} with random weights", shape.name));
  metadata.emplace_back("general.file_type", FileTypeOf(type));
  metadata.emplace_back("general.quantization_version", uint32_t{2});
  number("block_count", shape.num_layers);
  number("context_length", shape.context);
  number("embedding_length", shape.hidden);
  number("feed_forward_length", shape.ffn);
  number("attention.head_count", shape.num_heads);
  number("attention.head_count_kv", shape.num_kv_heads);
  number("attention.key_length", shape.head_dim);
  number("attention.value_length", shape.head_dim);
  number("vocab_size", shape.vocab);
  number("rope.dimension_count", shape.head_dim);
  metadata.emplace_back(arch + ".rope.freq_base", shape.rope_theta);
  metadata.emplace_back(arch + ".attention.layer_norm_rms_epsilon", shape.norm_eps);
  if (shape.sliding_window > 0) number("attention.sliding_window", shape.sliding_window);
  return metadata;
}

Json HfConfigOf(const ModelShape& shape, WeightType type, int32_t bos_id, int32_t eos_id) {
  // The shortest decimal that is the same FP32: 1e-05, not 9.99999974e-06.
  const auto decimal = [](float value) { return std::stod(fmt::format("{}", value)); };
  Json config = {
      {"architectures", {shape.hf_class}},
      {"model_type", shape.hf_type},
      {"torch_dtype", type == WeightType::kF32   ? "float32"
                      : type == WeightType::kF16 ? "float16"
                                                 : "bfloat16"},
      {"vocab_size", shape.vocab},
      {"hidden_size", shape.hidden},
      {"intermediate_size", shape.ffn},
      {"num_hidden_layers", shape.num_layers},
      {"num_attention_heads", shape.num_heads},
      {"num_key_value_heads", shape.num_kv_heads},
      {"head_dim", shape.head_dim},
      {"max_position_embeddings", shape.context},
      {"rms_norm_eps", decimal(shape.norm_eps)},
      {"rope_theta", decimal(shape.rope_theta)},
      {"tie_word_embeddings", shape.tied_embeddings},
      {"initializer_range", 0.02},
      {"attention_bias", shape.qkv_bias},
      {"bos_token_id", bos_id},
      {"eos_token_id", eos_id},
  };
  if (shape.sandwich_norms) {
    config["hidden_activation"] = "gelu_pytorch_tanh";
    config["query_pre_attn_scalar"] = shape.head_dim;
    config["rope_local_base_freq"] = 10000.0;
    config["sliding_window"] = shape.sliding_window;
    config["sliding_window_pattern"] = shape.sliding_pattern;
  } else {
    config["hidden_act"] = "silu";
  }
  if (shape.nope_interval > 0) {
    config["no_rope_layer_interval"] = shape.nope_interval;
    Json rope_layers = Json::array();
    for (int64_t i = 0; i < shape.num_layers; ++i)
      rope_layers.push_back((i + 1) % shape.nope_interval != 0 ? 1 : 0);
    config["no_rope_layers"] = rope_layers;
  }
  return config;
}

}  // namespace firebrick
