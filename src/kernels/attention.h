// Attention over paged KV: what its kernels are given. The geometry of a page: kernels/kv_view.h; the numeric
// definition: docs/contracts/numerics.md. Thread: values; any.
#pragma once

#include <cstddef>
#include <cstdint>

#include "device/thread_pool.h"
#include "kernels/kv_view.h"
#include "step/step_plan.h"

namespace firebrick {

// Keys are cut at multiples of this position: softmax runs inside a partition, partitions are merged in
// order.
inline constexpr int32_t kPartitionTokens = 256;
// Rows (a query of one head) that a kernel works on at once.
inline constexpr int32_t kAttentionRows = 32;

// Where the keys and values of one (sequence, layer, kv head) lie.
struct KvHeadPages {
  KvDType dtype = KvDType::kBF16;
  int32_t head_dim = 0;  // even, <= 512
  std::byte* arena = nullptr;
  size_t page_bytes = 0;
  size_t key_offset = 0;                 // KvGeometry::KeyOffset(layer, head)
  size_t value_offset = 0;               // KvGeometry::ValueOffset(layer, head)
  const BlockId* block_table = nullptr;  // entry position / 32

  std::byte* KeyTile(int32_t block_idx) const {
    return arena + page_bytes * block_table[block_idx].value() + key_offset;
  }
  std::byte* ValueTile(int32_t block_idx) const {
    return arena + page_bytes * block_table[block_idx].value() + value_offset;
  }
};

// New keys and values (after rope) of consecutive tokens, one kv head.
struct KvWriteArgs {
  KvHeadPages pages;
  int32_t first_position = 0;
  int32_t num_tokens = 0;
  const float* keys = nullptr;    // token i: keys + i * stride, head_dim floats
  const float* values = nullptr;  // the same
  int64_t key_stride = 0;
  int64_t value_stride = 0;
};

// Queries of consecutive tokens of one sequence against one kv head. The keys of all positions that they see
// are written. Every V element of a page that holds a visible token is finite (fresh pages are zeroed).
struct AttentionArgs {
  KvHeadPages pages;
  int32_t heads_per_kv = 1;    // query heads that share this kv head
  int32_t window = 0;          // 0: all earlier tokens; w: positions (p - w, p]
  float scale = 1.0F;          // of the scores
  int32_t first_position = 0;  // of query 0
  // Query i, head h of the group: queries + i * query_stride + h * head_dim; outputs alike. Query i is the
  // token at first_position + i.
  const float* queries = nullptr;
  int64_t query_stride = 0;
  float* outputs = nullptr;
  int64_t output_stride = 0;
};

// Floats of scratch that a call of Ops::attention needs; one piece per thread, 64-byte aligned.
size_t AttentionScratchFloats(int32_t head_dim);

}  // namespace firebrick
