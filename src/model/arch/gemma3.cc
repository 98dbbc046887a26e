// Gemma 3, text only: sliding and full layers with a rope each, four norms per layer whose weights mean 1 +
// w, scaled embeddings, a query scale of its own. GGUF files hold the norms with the 1 already added.
#include <cmath>

#include "base/json.h"
#include "model/arch/decoder_fields.h"
#include "model/arch/families.h"

namespace firebrick {
namespace {

constexpr std::string_view kHfTypes[] = {"gemma3_text", "gemma3"};
constexpr std::string_view kGgufNames[] = {"gemma3"};
constexpr std::string_view kIgnored[] = {"vision_tower.", "multi_modal_projector.", "model.vision_tower.",
                                         "model.multi_modal_projector."};
constexpr double kLocalTheta = 10000.0;
constexpr int32_t kPattern = 6;     // every sixth layer is full
constexpr int32_t k27bLayers = 62;  // GGUF files do not state the query scale; only the 27B differs
constexpr int8_t kFullRope = 0;
constexpr int8_t kSlidingRope = 1;

void SetFamilyFacts(ModelConfig& config) {
  config.qk_norm = true;
  config.sandwich_norms = true;
  config.activation = GateFunction::kGeluTanh;
  config.embedding_scale = std::sqrt(static_cast<float>(config.hidden_size));
}

void SetPattern(int32_t pattern, int32_t window, ModelConfig& config) {
  for (size_t layer = 0; layer < config.layer_windows.size(); ++layer) {
    config.layer_windows[layer] = (static_cast<int32_t>(layer) + 1) % pattern == 0 ? 0 : window;
  }
}

void SetLayerRopes(ModelConfig& config) {
  for (size_t layer = 0; layer < config.layer_windows.size(); ++layer) {
    config.layer_rope[layer] = config.layer_windows[layer] == 0 ? kFullRope : kSlidingRope;
  }
}

void ReadRopes(JsonFields& fields, ModelConfig& config) {
  const Json* parameters = fields.Find("rope_parameters");
  if (parameters != nullptr && parameters->is_object() && parameters->contains("full_attention")) {
    for (const char* kind : {"full_attention", "sliding_attention"}) {
      const auto it = parameters->find(kind);
      const double theta = std::string_view(kind) == "full_attention" ? 1000000.0 : kLocalTheta;
      config.ropes.push_back(ReadRope(fields, it == parameters->end() ? nullptr : &*it, theta, config));
    }
    return;
  }
  config.ropes.push_back(ReadRope(fields, 1000000.0, config));
  RopeConfig local;
  local.theta = fields.Real("rope_local_base_freq").value_or(kLocalTheta);
  local.rotary_dim = config.head_dim;
  config.ropes.push_back(local);
}

void ParseHf(JsonFields& fields, ModelConfig& config) {
  ReadDecoder(fields,
              {.vocab_size = 262208,
               .hidden_size = 2304,
               .ffn_size = 9216,
               .num_layers = 26,
               .num_heads = 8,
               .num_kv_heads = 4,
               .head_dim = 256,
               .max_position = 131072,
               .tied_embeddings = true},
              config);
  if (fields.Has("hidden_activation") && config.activation != GateFunction::kGeluTanh) {
    fields.Fail(Unimplemented("{}: Gemma 3 with another activation than gelu_pytorch_tanh is not supported",
                              fields.where()));
  }
  SetFamilyFacts(config);
  config.norm_offset = 1.0F;
  config.qkv_bias = config.output_bias = fields.Bool("attention_bias").value_or(false);
  config.attention_scale =
      static_cast<float>(1.0 / std::sqrt(fields.Real("query_pre_attn_scalar").value_or(256.0)));
  const int32_t window = fields.Int("sliding_window").value_or(4096);
  const int32_t pattern =
      fields.Int("sliding_window_pattern").value_or(fields.Int("_sliding_window_pattern").value_or(kPattern));
  if (pattern <= 0 || window <= 0) {
    fields.Fail(
        InvalidArgument("{}: sliding_window and sliding_window_pattern must be positive", fields.where()));
    return;
  }
  SetPattern(pattern, window, config);
  const std::vector<int32_t> typed = ReadLayerTypes(fields, config.num_layers, window);
  if (!typed.empty()) config.layer_windows = typed;
  SetLayerRopes(config);
  ReadRopes(fields, config);
  static constexpr std::string_view kUnsupported[] = {"use_bidirectional_attention"};
  RefuseFields(fields, kUnsupported);
}

void ParseGguf(GgufFields& fields, ModelConfig& config) {
  ReadDecoder(fields, config);
  SetFamilyFacts(config);
  const double query_scalar = config.num_layers == k27bLayers && config.num_heads > 0
                                  ? config.hidden_size / config.num_heads
                                  : config.head_dim;
  config.attention_scale = static_cast<float>(1.0 / std::sqrt(query_scalar));
  const int32_t window = fields.RequireInt("attention.sliding_window");
  const std::vector<int32_t> pattern = fields.Ints("attention.sliding_window_pattern");
  if (pattern.size() > 1 && pattern.size() == config.layer_windows.size()) {
    for (size_t i = 0; i < pattern.size(); ++i) config.layer_windows[i] = pattern[i] != 0 ? window : 0;
  } else {
    SetPattern(pattern.size() == 1 && pattern[0] > 0 ? pattern[0] : kPattern, window, config);
  }
  SetLayerRopes(config);
  RopeConfig local;
  local.theta = fields.Real("rope.freq_base_swa").value_or(kLocalTheta);
  local.rotary_dim = config.head_dim;
  config.ropes.push_back(local);
}

}  // namespace

const Architecture kGemma3 = {.name = "gemma3",
                              .hf_model_types = kHfTypes,
                              .gguf_names = kGgufNames,
                              .hf_ignored_prefixes = kIgnored,
                              .parse_hf = ParseHf,
                              .parse_gguf = ParseGguf};

}  // namespace firebrick
