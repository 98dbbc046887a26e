#include "model/arch/decoder_fields.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"

namespace firebrick {
namespace {

GateFunction ReadActivation(JsonFields& fields) {
  const std::string_view field = fields.Has("hidden_activation") ? "hidden_activation" : "hidden_act";
  const std::string name = fields.String(field).value_or("silu");
  if (name == "silu" || name == "swish") return GateFunction::kSilu;
  if (name == "gelu_pytorch_tanh" || name == "gelu_new" || name == "gelu_fast")
    return GateFunction::kGeluTanh;
  fields.Fail(Unimplemented("{}: {} '{}' is not supported; supported are silu and gelu_pytorch_tanh",
                            fields.where(), field, name));
  return GateFunction::kSilu;
}

double YarnMagnitude(double factor, double mscale) {
  return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

void ReadYarn(JsonFields& rope_fields, const ModelConfig& config, RopeConfig& rope) {
  rope.original_max_position =
      rope_fields.Real("original_max_position_embeddings").value_or(static_cast<double>(config.max_position));
  if (!rope_fields.Has("factor")) rope.factor = config.max_position / rope.original_max_position;
  rope.beta_fast = rope_fields.Real("beta_fast").value_or(32.0);
  rope.beta_slow = rope_fields.Real("beta_slow").value_or(1.0);
  rope.truncate = rope_fields.Bool("truncate").value_or(true);
  const double mscale = rope_fields.Real("mscale").value_or(0.0);
  const double mscale_all_dim = rope_fields.Real("mscale_all_dim").value_or(0.0);
  double magnitude = YarnMagnitude(rope.factor, 1.0);
  if (mscale != 0.0 && mscale_all_dim != 0.0) {
    magnitude = YarnMagnitude(rope.factor, mscale) / YarnMagnitude(rope.factor, mscale_all_dim);
  }
  rope.attention_factor = rope_fields.Real("attention_factor").value_or(magnitude);
}

}  // namespace

RopeConfig ReadRope(JsonFields& fields, const Json* parameters, double default_theta,
                    const ModelConfig& config) {
  RopeConfig rope;
  rope.theta = fields.Real("rope_theta").value_or(default_theta);
  double partial = fields.Real("partial_rotary_factor").value_or(1.0);
  static const Json kAbsent;
  JsonFields rope_fields(parameters == nullptr ? kAbsent : *parameters, fields.where() + ", rope parameters");
  rope.theta = rope_fields.Real("rope_theta").value_or(rope.theta);
  partial = rope_fields.Real("partial_rotary_factor").value_or(partial);
  if (!(partial > 0.0 && partial <= 1.0)) {
    fields.Fail(InvalidArgument("{}: partial_rotary_factor {} is not in (0, 1]", fields.where(), partial));
    partial = 1.0;
  }
  rope.rotary_dim = static_cast<int32_t>(config.head_dim * partial);
  rope.factor = rope_fields.Real("factor").value_or(1.0);
  const std::string type =
      rope_fields.String(rope_fields.Has("rope_type") ? "rope_type" : "type").value_or("default");
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "llama3") {
    rope.scaling = RopeScaling::kLlama3;
    rope.low_freq_factor = rope_fields.Real("low_freq_factor").value_or(1.0);
    rope.high_freq_factor = rope_fields.Real("high_freq_factor").value_or(4.0);
    rope.original_max_position = rope_fields.Real("original_max_position_embeddings").value_or(8192.0);
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    ReadYarn(rope_fields, config, rope);
  } else if (type != "default") {
    fields.Fail(
        Unimplemented("{}: rope type '{}' is not supported; supported are default, linear, llama3 and yarn",
                      fields.where(), type));
  }
  fields.Fail(rope_fields.status());
  return rope;
}

RopeConfig ReadRope(JsonFields& fields, double default_theta, const ModelConfig& config) {
  const Json* parameters = fields.Find("rope_parameters");
  return ReadRope(fields, parameters != nullptr ? parameters : fields.Find("rope_scaling"), default_theta,
                  config);
}

std::vector<int32_t> ReadLayerTypes(JsonFields& fields, int32_t num_layers, int32_t window) {
  const std::vector<std::string> types = fields.Strings("layer_types");
  if (types.empty()) return {};
  if (types.size() != static_cast<size_t>(num_layers)) {
    fields.Fail(InvalidArgument("{}: layer_types has {} entries for {} layers", fields.where(), types.size(),
                                num_layers));
    return {};
  }
  std::vector<int32_t> windows;
  for (const std::string& type : types) {
    if (type == "sliding_attention" && window <= 0) {
      fields.Fail(InvalidArgument("{}: layer_types names sliding_attention, but sliding_window is missing",
                                  fields.where()));
    } else if (type != "full_attention" && type != "sliding_attention") {
      fields.Fail(
          Unimplemented("{}: layer type '{}' is not supported; supported are full_attention and "
                        "sliding_attention",
                        fields.where(), type));
    }
    windows.push_back(type == "sliding_attention" ? window : 0);
  }
  return windows;
}

void RefuseFields(JsonFields& fields, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    const Json* value = fields.Find(name);
    if (value == nullptr || (value->is_boolean() && !value->get<bool>())) continue;
    fields.Fail(Unimplemented("{}: field '{}' = {} is not supported by this engine; use a model without it",
                              fields.where(), name, value->dump().substr(0, 60)));
  }
}

void ReadDecoder(JsonFields& fields, const DecoderDefaults& defaults, ModelConfig& config) {
  config.num_layers = fields.Int("num_hidden_layers").value_or(defaults.num_layers);
  config.hidden_size = fields.Int("hidden_size").value_or(defaults.hidden_size);
  config.num_heads = fields.Int("num_attention_heads").value_or(defaults.num_heads);
  config.num_kv_heads = fields.Int("num_key_value_heads")
                            .value_or(defaults.num_kv_heads > 0 ? defaults.num_kv_heads : config.num_heads);
  const int32_t even_split = config.num_heads > 0 ? config.hidden_size / config.num_heads : 0;
  config.head_dim = fields.Int("head_dim").value_or(defaults.head_dim > 0 ? defaults.head_dim : even_split);
  config.ffn_size = fields.Int("intermediate_size").value_or(defaults.ffn_size);
  config.vocab_size = fields.Int("vocab_size").value_or(defaults.vocab_size);
  config.max_position = fields.Int("max_position_embeddings").value_or(defaults.max_position);
  config.norm_eps = static_cast<float>(fields.Real("rms_norm_eps").value_or(defaults.norm_eps));
  config.tied_embeddings = fields.Bool("tie_word_embeddings").value_or(defaults.tied_embeddings);
  config.activation = ReadActivation(fields);
  config.bos_token_id = fields.Int("bos_token_id");
  config.eos_token_ids = fields.Ints("eos_token_id");
  const auto num_layers = static_cast<size_t>(std::clamp(config.num_layers, 0, 4096));
  config.layer_windows.assign(num_layers, 0);
  config.layer_rope.assign(num_layers, 0);
  static constexpr std::string_view kOther[] = {"attn_logit_softcapping", "final_logit_softcapping"};
  RefuseFields(fields, kOther);
}

void ReadDecoder(GgufFields& fields, ModelConfig& config) {
  config.num_layers = fields.RequireInt("block_count");
  config.hidden_size = fields.RequireInt("embedding_length");
  config.num_heads = fields.RequireInt("attention.head_count");
  const std::vector<int32_t> kv_heads = fields.Ints("attention.head_count_kv");
  config.num_kv_heads = kv_heads.empty() ? config.num_heads : kv_heads[0];
  if (std::any_of(kv_heads.begin(), kv_heads.end(), [&](int32_t n) { return n != kv_heads[0]; })) {
    fields.Fail(Unimplemented("{}: layers with different numbers of KV heads are not supported",
                              fields.checkpoint().path()));
  }
  const int32_t even_split = config.num_heads > 0 ? config.hidden_size / config.num_heads : 0;
  config.head_dim = fields.Int("attention.key_length").value_or(even_split);
  if (fields.Int("attention.value_length").value_or(config.head_dim) != config.head_dim) {
    fields.Fail(Unimplemented("{}: key and value heads of different widths are not supported",
                              fields.checkpoint().path()));
  }
  config.ffn_size = fields.RequireInt("feed_forward_length");
  config.max_position = fields.RequireInt("context_length");
  config.norm_eps = static_cast<float>(fields.Real("attention.layer_norm_rms_epsilon").value_or(1e-5));
  const RawTensor* embedding = fields.checkpoint().FindTensor("token_embd.weight");
  if (embedding != nullptr && embedding->shape.size() == 2 && embedding->shape[0] < (1 << 30)) {
    config.vocab_size = static_cast<int32_t>(embedding->shape[0]);
  }
  config.tied_embeddings = fields.checkpoint().FindTensor("output.weight") == nullptr;
  const auto num_layers = static_cast<size_t>(std::clamp(config.num_layers, 0, 4096));
  config.layer_windows.assign(num_layers, 0);
  config.layer_rope.assign(num_layers, 0);

  RopeConfig rope;
  rope.theta = fields.Real("rope.freq_base").value_or(10000.0);
  rope.rotary_dim = fields.Int("rope.dimension_count").value_or(config.head_dim);
  rope.factor = fields.Real("rope.scaling.factor").value_or(fields.Real("rope.scale_linear").value_or(1.0));
  std::string type = fields.String("rope.scaling.type").value_or(rope.factor == 1.0 ? "none" : "linear");
  if (type == "linear") {
    rope.scaling = RopeScaling::kLinear;
  } else if (type == "yarn") {
    rope.scaling = RopeScaling::kYarn;
    rope.original_max_position = fields.Real("rope.scaling.original_context_length")
                                     .value_or(static_cast<double>(config.max_position));
    rope.beta_fast = fields.Real("rope.scaling.yarn_beta_fast").value_or(32.0);
    rope.beta_slow = fields.Real("rope.scaling.yarn_beta_slow").value_or(1.0);
    rope.attention_factor =
        YarnMagnitude(rope.factor, 1.0) * fields.Real("rope.scaling.attn_factor").value_or(1.0);
  } else if (type != "none") {
    fields.Fail(Unimplemented("{}: rope scaling type '{}' is not supported; supported are linear and yarn",
                              fields.checkpoint().path(), type));
  }
  config.ropes.assign(1, rope);
}

}  // namespace firebrick
