// DecoderWeights: the packed weights of a dense decoder, laid out as its forward pass reads them.
// Thread: filled by the loader, then const.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layers/embedding.h"
#include "model/layers/fused_linear.h"

namespace firebrick {

// Where a layer's keys and values lie in pages: its group, and its number inside the group.
struct LayerKvPlace {
  int32_t group = 0;
  int32_t layer_in_group = 0;
};

struct DecoderLayer {
  LayerKvPlace kv_place;
  std::vector<float> attention_norm;       // [hidden]
  std::vector<float> query_norm;           // [head_dim]; empty without qk_norm
  std::vector<float> key_norm;             // [head_dim]
  std::vector<float> post_attention_norm;  // [hidden]; empty without sandwich norms
  std::vector<float> ffn_norm;             // [hidden]
  std::vector<float> post_ffn_norm;        // [hidden]; empty without sandwich norms
  FusedLinear qkv;                         // q, k, v
  FusedLinear attention_output;
  FusedLinear gate_up;  // gate, up
  FusedLinear down;
};

struct DecoderWeights {
  EmbeddingTable embedding;
  std::vector<DecoderLayer> layers;
  std::vector<float> final_norm;
  FusedLinear output;  // tied embeddings: the one copy of the matrix
  // Per rope of the configuration: angle per position of each pair, see model/rope.h.
  std::vector<std::vector<float>> rope_frequencies;
};

}  // namespace firebrick
