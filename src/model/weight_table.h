// WeightTable: which tensor of a checkpoint fills which place of a dense decoder. Each slot is filled by
// exactly one tensor, and each tensor fills one slot or is ignored by a stated rule. Thread: built once, then
// const.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "model/model_config.h"
#include "weights/checkpoint.h"

namespace firebrick {

enum class WeightRole : uint8_t {
  kEmbedding,      // [vocab, hidden]
  kOutput,         // [vocab, hidden]; absent where embeddings are tied
  kFinalNorm,      // [hidden]
  kRopeDivisors,   // [rotary_dim / 2]; GGUF only
  kAttentionNorm,  // [hidden]
  kQuery,          // [heads x head_dim, hidden]
  kKey,            // [kv_heads x head_dim, hidden]
  kValue,
  kQueryBias,
  kKeyBias,
  kValueBias,
  kQueryNorm,  // [head_dim]
  kKeyNorm,
  kAttentionOutput,  // [hidden, heads x head_dim]
  kAttentionOutputBias,
  kPostAttentionNorm,  // [hidden]; sandwich norms
  kFfnNorm,            // [hidden]
  kGate,               // [ffn, hidden]
  kUp,
  kGateBias,
  kUpBias,
  kDown,  // [hidden, ffn]
  kDownBias,
  kPostFfnNorm,  // [hidden]; sandwich norms
};

struct WeightSlot {
  WeightRole role;
  int32_t layer = -1;  // -1: of the model
  const RawTensor* tensor = nullptr;
  // Rows lie in adjacent-pair order per head of head_dim rows: row 2j + s of a head belongs at s * d/2 + j.
  bool adjacent_pairs = false;
};

// Slots in the order of loading: the embedding, then layer by layer, then the end of the model. Refuses a
// missing, surplus or mis-shaped tensor with its name, its shape and the remedy.
Result<std::vector<WeightSlot>> BuildWeightTable(const Checkpoint& checkpoint, const ModelConfig& config);

}  // namespace firebrick
