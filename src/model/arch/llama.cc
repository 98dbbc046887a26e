// Llama 2 and 3.x, and what shares their classes: SmolLM2, and Mistral in GGUF files.
#include "model/arch/decoder_fields.h"
#include "model/arch/families.h"

namespace firebrick {
namespace {

constexpr std::string_view kHfTypes[] = {"llama"};
constexpr std::string_view kGgufNames[] = {"llama"};

void ParseHf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(fields, DecoderDefaults{}, config);
  config.qkv_bias = config.output_bias = fields.Bool("attention_bias").value_or(false);
  config.mlp_bias = fields.Bool("mlp_bias").value_or(false);
  config.ropes.assign(1, ReadRope(fields, 10000.0, config));
}

void ParseGguf(GgufFields& fields, ModelConfig& config) {
  ReadDecoder(fields, config);
  const Checkpoint& checkpoint = fields.checkpoint();
  config.qkv_bias = checkpoint.FindTensor("blk.0.attn_q.bias") != nullptr;
  config.output_bias = checkpoint.FindTensor("blk.0.attn_output.bias") != nullptr;
  config.mlp_bias = checkpoint.FindTensor("blk.0.ffn_gate.bias") != nullptr;
  if (fields.Int("expert_count").value_or(0) > 0) {
    fields.Fail(Unimplemented("{}: mixtures of experts are not supported", checkpoint.path()));
  }
  const int32_t window = fields.Int("attention.sliding_window").value_or(0);
  config.layer_windows.assign(config.layer_windows.size(), window);
}

}  // namespace

const Architecture kLlama = {.name = "llama",
                             .hf_model_types = kHfTypes,
                             .gguf_names = kGgufNames,
                             .gguf_permutes_qk = true,
                             .parse_hf = ParseHf,
                             .parse_gguf = ParseGguf};

}  // namespace firebrick
