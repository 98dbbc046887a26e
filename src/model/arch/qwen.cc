// Qwen2 (bias on q, k and v) and Qwen3 dense (RMS norm on each head of q and k, no bias).
#include "model/arch/decoder_fields.h"
#include "model/arch/families.h"

namespace firebrick {
namespace {

constexpr std::string_view kQwen2Hf[] = {"qwen2"};
constexpr std::string_view kQwen2Gguf[] = {"qwen2"};
constexpr std::string_view kQwen3Hf[] = {"qwen3"};
constexpr std::string_view kQwen3Gguf[] = {"qwen3"};

// Layers from max_window_layers on slide, where the file says that any do.
void ReadWindows(JsonFields& fields, ModelConfig& config) {
  const bool slides = fields.Bool("use_sliding_window").value_or(false);
  const int32_t window = slides ? fields.Int("sliding_window").value_or(4096) : 0;
  const int32_t first = fields.Int("max_window_layers").value_or(28);
  const std::vector<int32_t> typed = ReadLayerTypes(fields, config.num_layers, window);
  for (size_t layer = 0; layer < config.layer_windows.size(); ++layer) {
    const int32_t derived = static_cast<int32_t>(layer) >= first ? window : 0;
    config.layer_windows[layer] = typed.empty() ? derived : typed[layer];
  }
}

void ParseQwen2Hf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(fields, {.vocab_size = 151936, .ffn_size = 22016, .num_kv_heads = 32, .max_position = 32768},
              config);
  config.qkv_bias = true;
  config.ropes.assign(1, ReadRope(fields, 10000.0, config));
  ReadWindows(fields, config);
}

void ParseQwen2Gguf(GgufFields& fields, ModelConfig& config) {
  ReadDecoder(fields, config);
  config.qkv_bias = true;
}

void ParseQwen3Hf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(
      fields,
      {.vocab_size = 151936, .ffn_size = 22016, .num_kv_heads = 32, .head_dim = 128, .max_position = 32768},
      config);
  config.qkv_bias = config.output_bias = fields.Bool("attention_bias").value_or(false);
  config.qk_norm = true;
  config.ropes.assign(1, ReadRope(fields, 10000.0, config));
  ReadWindows(fields, config);
}

void ParseQwen3Gguf(GgufFields& fields, ModelConfig& config) {
  ReadDecoder(fields, config);
  config.qk_norm = true;
}

}  // namespace

const Architecture kQwen2 = {.name = "qwen2",
                             .hf_model_types = kQwen2Hf,
                             .gguf_names = kQwen2Gguf,
                             .parse_hf = ParseQwen2Hf,
                             .parse_gguf = ParseQwen2Gguf};
const Architecture kQwen3 = {.name = "qwen3",
                             .hf_model_types = kQwen3Hf,
                             .gguf_names = kQwen3Gguf,
                             .parse_hf = ParseQwen3Hf,
                             .parse_gguf = ParseQwen3Gguf};

}  // namespace firebrick
