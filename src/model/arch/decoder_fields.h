// Fields that all families of dense decoders share, in both file formats. Thread: any.
#pragma once

#include <span>
#include <string>

#include "model/config_fields.h"
#include "model/model_config.h"

namespace firebrick {

// The defaults of the transformers class: a config.json leaves out what equals them.
struct DecoderDefaults {
  int32_t vocab_size = 32000;
  int32_t hidden_size = 4096;
  int32_t ffn_size = 11008;
  int32_t num_layers = 32;
  int32_t num_heads = 32;
  int32_t num_kv_heads = 0;  // 0: as many as heads
  int32_t head_dim = 0;      // 0: hidden_size / num_heads
  int32_t max_position = 2048;
  double norm_eps = 1e-6;
  double rope_theta = 10000.0;
  bool tied_embeddings = false;
};

// Sizes, norms, activation, biases, tied embeddings; one full-attention rope for all layers.
void ReadDecoder(JsonFields& fields, const DecoderDefaults& defaults, ModelConfig& config);
void ReadDecoder(GgufFields& fields, ModelConfig& config);

// One rope of config.json: `parameters` is rope_parameters (transformers 5) or rope_scaling (4), null where
// absent.
RopeConfig ReadRope(JsonFields& fields, const Json* parameters, double default_theta,
                    const ModelConfig& config);
// The rope of all layers: rope_parameters, or rope_theta with rope_scaling.
RopeConfig ReadRope(JsonFields& fields, double default_theta, const ModelConfig& config);

// layer_types of config.json: one window per layer, 0 for full attention. Empty where the field is absent.
std::vector<int32_t> ReadLayerTypes(JsonFields& fields, int32_t num_layers, int32_t window);

// Refuses fields that would change the numbers and that the family's forward pass does not have.
void RefuseFields(JsonFields& fields, std::span<const std::string_view> names);

}  // namespace firebrick
