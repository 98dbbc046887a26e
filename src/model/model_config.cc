#include "model/model_config.h"

#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "model/arch/architecture.h"

namespace firebrick {
namespace {

std::string SupportedNames(CheckpointKind kind) {
  std::string out;
  for (const Architecture* architecture : Architectures()) {
    for (const auto name :
         kind == CheckpointKind::kGguf ? architecture->gguf_names : architecture->hf_model_types) {
      out += (out.empty() ? "" : ", ") + std::string(name);
    }
  }
  return out;
}

Status CheckRange(std::string_view path, std::string_view what, int64_t value, int64_t low, int64_t high) {
  if (value >= low && value <= high) return OkStatus();
  return InvalidArgument(
      "{}: {} is {}, outside [{}, {}]; the configuration is damaged, fetch the model again", path, what,
      value, low, high);
}

Status CheckRope(const std::string& path, const RopeConfig& rope, int32_t head_dim) {
  if (rope.rotary_dim <= 0 || rope.rotary_dim > head_dim || rope.rotary_dim % 2 != 0) {
    return InvalidArgument("{}: rope rotates {} of {} dimensions; it must be an even number of them", path,
                           rope.rotary_dim, head_dim);
  }
  const bool finite = std::isfinite(rope.theta) && rope.theta > 0 && std::isfinite(rope.factor) &&
                      rope.factor > 0 && std::isfinite(rope.attention_factor) && rope.beta_fast > 0 &&
                      rope.beta_slow > 0;
  const bool needs_length = rope.scaling == RopeScaling::kLlama3 || rope.scaling == RopeScaling::kYarn;
  const bool llama3_ok = rope.scaling != RopeScaling::kLlama3 ||
                         (rope.low_freq_factor > 0 && rope.high_freq_factor >= rope.low_freq_factor);
  if (!finite || (needs_length && !(rope.original_max_position > 0)) || !llama3_ok) {
    return InvalidArgument("{}: rope parameters are out of range (theta {}, factor {}, original length {})",
                           path, rope.theta, rope.factor, rope.original_max_position);
  }
  return OkStatus();
}

Status CheckConfig(const std::string& path, const ModelConfig& config) {
  RETURN_IF_ERROR(CheckRange(path, "the number of layers", config.num_layers, 1, 1024));
  RETURN_IF_ERROR(CheckRange(path, "the hidden size", config.hidden_size, 1, 1 << 17));
  RETURN_IF_ERROR(CheckRange(path, "the number of heads", config.num_heads, 1, 1024));
  RETURN_IF_ERROR(CheckRange(path, "the number of KV heads", config.num_kv_heads, 1, config.num_heads));
  RETURN_IF_ERROR(CheckRange(path, "the head size", config.head_dim, 2, 1024));
  RETURN_IF_ERROR(CheckRange(path, "the feed-forward size", config.ffn_size, 1, 1 << 20));
  RETURN_IF_ERROR(CheckRange(path, "the vocabulary size", config.vocab_size, 1, 1 << 24));
  RETURN_IF_ERROR(CheckRange(path, "the context length", config.max_position, 1, 1 << 30));
  if (config.num_heads % config.num_kv_heads != 0 || config.head_dim % 2 != 0) {
    return InvalidArgument("{}: {} heads over {} KV heads of size {} do not fit together", path,
                           config.num_heads, config.num_kv_heads, config.head_dim);
  }
  if (!std::isfinite(config.norm_eps) || config.norm_eps < 0 || !std::isfinite(config.attention_scale)) {
    return InvalidArgument("{}: norm epsilon {} or attention scale {} is out of range", path, config.norm_eps,
                           config.attention_scale);
  }
  for (const int32_t window : config.layer_windows) {
    RETURN_IF_ERROR(CheckRange(path, "the sliding window", window, 0, 1 << 30));
  }
  for (const RopeConfig& rope : config.ropes) RETURN_IF_ERROR(CheckRope(path, rope, config.head_dim));
  for (const int32_t id : config.eos_token_ids) {
    RETURN_IF_ERROR(CheckRange(path, "an end-of-sequence id", id, 0, config.vocab_size - 1));
  }
  return OkStatus();
}

// generation_config.json, which usually has the complete list of end-of-sequence ids.
Status ReadGeneration(const Json& file, const std::string& path, ModelConfig& config) {
  if (!file.is_object()) return OkStatus();
  JsonFields fields(file, path + "/generation_config.json");
  const auto real = [&](std::string_view name) -> std::optional<float> {
    const std::optional<double> value = fields.Real(name);
    if (!value) return std::nullopt;
    return static_cast<float>(*value);
  };
  GenerationDefaults& generation = config.generation;
  generation.temperature = real("temperature");
  generation.top_p = real("top_p");
  generation.min_p = real("min_p");
  generation.repetition_penalty = real("repetition_penalty");
  generation.top_k = fields.Int("top_k");
  if (fields.Bool("do_sample") == false) generation.temperature = 0.0F;
  for (const int32_t id : fields.Ints("eos_token_id")) {
    if (std::find(config.eos_token_ids.begin(), config.eos_token_ids.end(), id) ==
        config.eos_token_ids.end()) {
      config.eos_token_ids.push_back(id);
    }
  }
  if (!config.bos_token_id) config.bos_token_id = fields.Int("bos_token_id");
  return fields.status();
}

// End-of-sequence ids of a GGUF: the named ids, and control tokens that end a turn but are not named (Gemma's
// files name only <eos>).
void ReadGgufTokens(const Checkpoint& checkpoint, ModelConfig& config) {
  const auto named = [&](std::string_view key) -> std::optional<int32_t> {
    const GgufValue* value = checkpoint.FindMetadata("tokenizer.ggml." + std::string(key));
    const std::optional<int64_t> id = value == nullptr ? std::nullopt : GgufInteger(*value);
    if (!id || *id < 0 || *id >= config.vocab_size) return std::nullopt;
    return static_cast<int32_t>(*id);
  };
  const auto add = [&](std::optional<int32_t> id) {
    auto& ids = config.eos_token_ids;
    if (id && std::find(ids.begin(), ids.end(), *id) == ids.end()) ids.push_back(*id);
  };
  config.bos_token_id = named("bos_token_id");
  for (const std::string_view key : {"eos_token_id", "eot_token_id", "eom_token_id"}) add(named(key));
  const GgufValue* tokens = checkpoint.FindMetadata("tokenizer.ggml.tokens");
  const auto* texts = tokens == nullptr ? nullptr : std::get_if<std::vector<std::string>>(tokens);
  if (texts == nullptr) return;
  static constexpr std::string_view kTurnEnds[] = {"<|eot_id|>",    "<|eom_id|>",      "<|im_end|>",
                                                   "<end_of_turn>", "<|end_of_text|>", "<|endoftext|>"};
  for (size_t id = 0; id < texts->size() && id < static_cast<size_t>(config.vocab_size); ++id) {
    if (std::find(std::begin(kTurnEnds), std::end(kTurnEnds), (*texts)[id]) != std::end(kTurnEnds)) {
      add(static_cast<int32_t>(id));
    }
  }
}

Status UnknownArchitecture(const Checkpoint& checkpoint, std::string_view field, std::string_view name) {
  return Unimplemented("{}: {} '{}' is not supported; supported are {}", checkpoint.path(), field, name,
                       SupportedNames(checkpoint.kind()));
}

Status ParseHf(const Checkpoint& checkpoint, ModelConfig& config) {
  const Json& root = checkpoint.config();
  if (!root.is_object()) {
    return NotFound("{}: config.json is missing; a safetensors model is a folder with it beside the weights",
                    checkpoint.path());
  }
  // Multimodal wrappers hold the language model's fields in text_config.
  const auto text = root.find("text_config");
  const bool wrapped = text != root.end() && text->is_object();
  const std::string where = checkpoint.path() + "/config.json";
  JsonFields fields(wrapped ? *text : root, where);
  JsonFields root_fields(root, where);
  std::string type = fields.String("model_type").value_or("");
  if (type.empty()) type = root_fields.String("model_type").value_or("");
  const Architecture* architecture = FindArchitecture(CheckpointKind::kSafetensors, type);
  if (architecture == nullptr) return UnknownArchitecture(checkpoint, "model_type", type);
  config.architecture = architecture->name;
  architecture->parse_hf(fields, config);
  RETURN_IF_ERROR(fields.status());
  if (wrapped && config.eos_token_ids.empty()) config.eos_token_ids = root_fields.Ints("eos_token_id");
  if (wrapped && !config.bos_token_id) config.bos_token_id = root_fields.Int("bos_token_id");
  RETURN_IF_ERROR(root_fields.status());
  return ReadGeneration(checkpoint.generation_config(), checkpoint.path(), config);
}

Status ParseGguf(const Checkpoint& checkpoint, ModelConfig& config) {
  const GgufValue* value = checkpoint.FindMetadata("general.architecture");
  const auto* name = value == nullptr ? nullptr : std::get_if<std::string>(value);
  if (name == nullptr) {
    return DataLoss("{}: metadata 'general.architecture' is missing; the file is not a model, fetch it again",
                    checkpoint.path());
  }
  const Architecture* architecture = FindArchitecture(CheckpointKind::kGguf, *name);
  if (architecture == nullptr) return UnknownArchitecture(checkpoint, "architecture", *name);
  config.architecture = architecture->name;
  GgufFields fields(checkpoint, *name);
  architecture->parse_gguf(fields, config);
  RETURN_IF_ERROR(fields.status());
  ReadGgufTokens(checkpoint, config);
  return OkStatus();
}

}  // namespace

Result<ModelConfig> ParseModelConfig(const Checkpoint& checkpoint) {
  ModelConfig config;
  const bool gguf = checkpoint.kind() == CheckpointKind::kGguf;
  RETURN_IF_ERROR(gguf ? ParseGguf(checkpoint, config) : ParseHf(checkpoint, config));
  if (config.attention_scale == 0.0F && config.head_dim > 0) {
    config.attention_scale = 1.0F / std::sqrt(static_cast<float>(config.head_dim));
  }
  RETURN_IF_ERROR(CheckConfig(checkpoint.path(), config));
  return config;
}

}  // namespace firebrick
