// DirectRun: a model over given id lists without the engine: prompts go in chunk by chunk, all lists in one
// batch, and every position's logits come out. For `firebrick logits`, for tests and for measuring. Thread:
// one.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/status.h"
#include "device/thread_pool.h"
#include "kernels/ops.h"
#include "model/model.h"

namespace firebrick {

struct DirectRunOptions {
  int32_t chunk = 512;  // tokens of one list in one pass; >= 1
  KvDType kv_dtype = KvDType::kBF16;
};

// Called for each position of each list: positions ascend within a list. logits: [vocab_size].
using LogitSink = std::function<void(size_t list, int32_t position, std::span<const float> logits)>;

// Lists of wanted = false run beside the others and give no logits. kInvalidArgument: an empty list, or an id
// outside the vocabulary. The pages of the lists are interleaved in the arena, as those of requests are.
struct DirectList {
  std::vector<int32_t> ids;
  bool wanted = true;
};
Status RunDirect(const Model& model, const Ops& ops, ThreadPool& pool, std::span<const DirectList> lists,
                 const DirectRunOptions& options, const LogitSink& sink);

}  // namespace firebrick
