// Mistral: Llama with an explicit head size, and a sliding window on every layer in v0.1. Its GGUF files call
// themselves "llama".
#include "base/json.h"
#include "model/arch/decoder_fields.h"
#include "model/arch/families.h"

namespace firebrick {
namespace {

constexpr std::string_view kHfTypes[] = {"mistral"};

void ParseHf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(fields, {.ffn_size = 14336, .num_kv_heads = 8, .max_position = 131072}, config);
  config.ropes.assign(1, ReadRope(fields, 10000.0, config));
  // null means no window; a file without the field means the class default.
  const bool named = fields.object().is_object() && fields.object().contains("sliding_window");
  const int32_t window = fields.Int("sliding_window").value_or(named ? 0 : 4096);
  config.layer_windows.assign(config.layer_windows.size(), window);
  const std::vector<int32_t> typed = ReadLayerTypes(fields, config.num_layers, window);
  if (!typed.empty()) config.layer_windows = typed;
}

}  // namespace

const Architecture kMistral = {.name = "mistral",
                               .hf_model_types = kHfTypes,
                               .gguf_names = {},
                               .parse_hf = ParseHf,
                               .parse_gguf = nullptr};

}  // namespace firebrick
