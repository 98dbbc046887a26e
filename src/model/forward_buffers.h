// The memory behind a ForwardScratch. Grows to the largest batch and stays. Thread: the executor's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "device/aligned_buffer.h"
#include "kernels/activation.h"
#include "kernels/ops.h"
#include "model/decoder_weights.h"
#include "model/model.h"

namespace firebrick {

// Floats that keep their memory from use to use.
class ScratchArray {
 public:
  Status Reserve(int64_t num_floats);
  float* data() { return buffer_.as<float>(); }

 private:
  AlignedBuffer buffer_;
};

// Tokens of one sequence that lie in one KV block: no two spans write to one page.
struct TokenSpan {
  const BatchSequence* sequence = nullptr;
  int32_t token_begin = 0;
  int32_t num_tokens = 0;
  int32_t first_position = 0;
};

// Queries of one sequence that one attention call computes; numbered from the sequence's first token.
struct QueryBlock {
  const BatchSequence* sequence = nullptr;
  IndexRange queries;
};

// Shapes for a batch of T tokens, of which L want logits; F = tokens that pass the feed-forward at once.
struct ForwardBuffers {
  ScratchArray residual;   // [T][hidden]
  ScratchArray normed;     // [T][hidden]
  ScratchArray qkv;        // [T][(heads + 2 kv_heads) x head_dim]
  ScratchArray attended;   // [T][heads x head_dim]
  ScratchArray branch;     // [T][hidden]: what attention or feed-forward adds
  ScratchArray gate_up;    // [F][2 ffn]
  ScratchArray rope_cos;   // [ropes][T][pairs of the widest]
  ScratchArray rope_sin;   // the same
  ScratchArray attention;  // [threads][floats of one]
  std::vector<TokenSpan> spans;
  std::vector<QueryBlock> query_blocks;
  Activation input;  // of qkv, gate_up and the output matrix
  Activation inner;  // of attention_output and down
};

}  // namespace firebrick
