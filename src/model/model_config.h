// ModelConfig: the facts of a model that its checkpoint states, in one form for both file formats.
// Read once at load, const afterwards. Thread: any.
// Source of the fields' meaning: ../shared/reference/models-and-formats.md sections 1.0 to 1.5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

enum class RopeScaling : uint8_t { kNone, kLinear, kLlama3, kYarn };
enum class GateFunction : uint8_t { kSilu, kGeluTanh };

// Rotary position embedding of one kind of layer. Pairs are (i, i + rotary_dim / 2): files that use adjacent
// pairs have their rows permuted at load.
struct RopeConfig {
  double theta = 10000.0;
  int32_t rotary_dim = 0;  // leading dimensions of a head that rotate
  RopeScaling scaling = RopeScaling::kNone;
  double factor = 1.0;               // linear, llama3, yarn
  double original_max_position = 0;  // llama3, yarn
  double low_freq_factor = 1.0;      // llama3
  double high_freq_factor = 4.0;     // llama3
  double beta_fast = 32.0;           // yarn
  double beta_slow = 1.0;            // yarn
  bool truncate = true;              // yarn: correction bounds are floored and ceiled
  double attention_factor = 1.0;     // yarn: cos and sin are multiplied by it
  std::vector<float> freq_divisors;  // GGUF rope_freqs.weight [rotary_dim / 2]; empty where absent
};

// What a request that leaves a field out gets; from generation_config.json. Absent: the server's own default.
struct GenerationDefaults {
  std::optional<float> temperature;  // 0 where the file says do_sample false
  std::optional<int32_t> top_k;
  std::optional<float> top_p;
  std::optional<float> min_p;
  std::optional<float> repetition_penalty;
};

struct ModelConfig {
  std::string architecture;  // the registry's name: "llama", "gemma3", ...
  int32_t num_layers = 0;
  int32_t hidden_size = 0;
  int32_t num_heads = 0;
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;
  int32_t ffn_size = 0;
  int32_t vocab_size = 0;
  int32_t max_position = 0;  // tokens that the model was made for

  float norm_eps = 1e-5F;
  float norm_offset = 0.0F;  // added to every norm weight at load (Gemma's 1 + w, unless folded in the file)
  float embedding_scale = 1.0F;  // embedding rows are multiplied by it
  float attention_scale = 0.0F;  // of the scores, usually head_dim^-1/2
  GateFunction activation = GateFunction::kSilu;
  bool qkv_bias = false;
  bool output_bias = false;  // of the attention's output projection
  bool mlp_bias = false;
  bool qk_norm = false;         // RMS norm per head on q and k, before rope
  bool sandwich_norms = false;  // Gemma 3: norms also after attention and after the feed-forward
  bool tied_embeddings = false;

  std::vector<int32_t> layer_windows;  // [num_layers]; 0 = full attention
  std::vector<int8_t> layer_rope;      // [num_layers]; index into ropes, -1 = no rotation
  std::vector<RopeConfig> ropes;

  std::optional<int32_t> bos_token_id;
  std::vector<int32_t> eos_token_ids;
  GenerationDefaults generation;
};

// Reads and checks the configuration. Unknown model types, rope types, activations and layer types are
// refused by name.
Result<ModelConfig> ParseModelConfig(const Checkpoint& checkpoint);

}  // namespace firebrick
