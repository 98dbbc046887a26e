// Shapes of models that make-model and tests write with random weights, and the tensors each has, under the
// names that GGUF converters and Hugging Face folders use. Thread: any; const tables and pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "weights/checkpoint.h"
#include "weights/file_layout.h"

namespace firebrick {

struct ModelShape {
  std::string_view name;       // as make-model takes it
  std::string_view gguf_arch;  // general.architecture; also the prefix of its keys
  std::string_view hf_type;    // model_type of config.json
  std::string_view hf_class;   // architectures[0] of config.json
  int64_t num_layers = 0;
  int64_t hidden = 0;
  int64_t ffn = 0;
  int64_t num_heads = 0;
  int64_t num_kv_heads = 0;
  int64_t head_dim = 0;
  int64_t vocab = 0;
  int64_t context = 0;
  float rope_theta = 10000;
  float norm_eps = 1e-5F;
  bool tied_embeddings = true;
  bool qk_norm = false;  // RMS norm on each head of q and k
  bool qkv_bias = false;
  bool sandwich_norms = false;  // Gemma: norms after attention and FFN too, GeGLU, scaled embeddings
  int64_t sliding_window = 0;   // 0: every layer sees everything
  int64_t sliding_pattern = 0;  // every so many layers one is full
  int64_t nope_interval = 0;    // every so many layers one has no rope (SmolLM3)
};

std::span<const ModelShape> ModelShapes();
// nullptr where no shape has that name.
const ModelShape* FindModelShape(std::string_view name);

// How a tensor is filled.
enum class TensorFill : uint8_t {
  kNormal,  // normal distribution, standard deviation 0.02
  kOnes,    // a norm's weight
  kZeros,   // a norm's weight where the model adds 1 to it
};

struct SyntheticTensor {
  TensorSpec spec;
  TensorFill fill = TensorFill::kNormal;
};

// All tensors of the shape in the order in which converters write them. Matrices get `type` or, where their
// columns are no multiple of its block, FallbackType; norms and biases are F32 in GGUF, `type` in
// safetensors.
std::vector<SyntheticTensor> TensorsOf(const ModelShape& shape, CheckpointKind kind, WeightType type);

// The architecture's metadata of a GGUF file (no tokenizer), and the text of config.json.
GgufMetadata GgufMetadataOf(const ModelShape& shape, WeightType type);
Json HfConfigOf(const ModelShape& shape, WeightType type, int32_t bos_id, int32_t eos_id);

}  // namespace firebrick
