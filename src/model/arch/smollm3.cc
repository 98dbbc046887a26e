// SmolLM3: Llama in which every fourth layer does not rotate.
#include "model/arch/decoder_fields.h"
#include "model/arch/families.h"

namespace firebrick {
namespace {

constexpr std::string_view kHfTypes[] = {"smollm3"};
constexpr std::string_view kGgufNames[] = {"smollm3"};
constexpr int32_t kGgufInterval = 4;  // GGUF files do not state it

void ApplyInterval(int32_t interval, ModelConfig& config) {
  for (size_t layer = 0; layer < config.layer_rope.size(); ++layer) {
    config.layer_rope[layer] = (static_cast<int32_t>(layer) + 1) % interval == 0 ? -1 : 0;
  }
}

void ParseHf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(fields,
              {.vocab_size = 128256,
               .hidden_size = 2048,
               .num_layers = 36,
               .num_heads = 16,
               .num_kv_heads = 4,
               .max_position = 32768,
               .rope_theta = 2000000.0,
               .tied_embeddings = true},
              config);
  config.qkv_bias = config.output_bias = fields.Bool("attention_bias").value_or(false);
  config.mlp_bias = fields.Bool("mlp_bias").value_or(false);
  config.ropes.assign(1, ReadRope(fields, 2000000.0, config));
  const std::vector<int32_t> rotates =
      fields.Ints("no_rope_layers");  // 1: the layer rotates, despite the name
  if (rotates.empty()) {
    const int32_t interval = fields.Int("no_rope_layer_interval").value_or(4);
    if (interval <= 0) {
      fields.Fail(
          InvalidArgument("{}: no_rope_layer_interval {} must be positive", fields.where(), interval));
      return;
    }
    ApplyInterval(interval, config);
  } else if (rotates.size() != config.layer_rope.size()) {
    fields.Fail(InvalidArgument("{}: no_rope_layers has {} entries for {} layers", fields.where(),
                                rotates.size(), config.num_layers));
  } else {
    for (size_t layer = 0; layer < rotates.size(); ++layer)
      config.layer_rope[layer] = rotates[layer] ? 0 : -1;
  }
  const bool slides = fields.Bool("use_sliding_window").value_or(false);
  const int32_t window = slides ? fields.Int("sliding_window").value_or(0) : 0;
  const std::vector<int32_t> typed = ReadLayerTypes(fields, config.num_layers, window);
  for (size_t layer = 0; layer < config.layer_windows.size(); ++layer) {
    config.layer_windows[layer] = !typed.empty() ? typed[layer] : config.layer_rope[layer] < 0 ? window : 0;
  }
}

void ParseGguf(GgufFields& fields, ModelConfig& config) {
  ReadDecoder(fields, config);
  ApplyInterval(kGgufInterval, config);
}

}  // namespace

const Architecture kSmolLm3 = {.name = "smollm3",
                               .hf_model_types = kHfTypes,
                               .gguf_names = kGgufNames,
                               .gguf_permutes_qk = true,
                               .parse_hf = ParseHf,
                               .parse_gguf = ParseGguf};

}  // namespace firebrick
