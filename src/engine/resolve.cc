#include "engine/resolve.h"

#include <algorithm>

#include "sched/block_ledger.h"

namespace firebrick {
namespace {

// Left free beside the KV cache for activations, request state and other programs: a tenth of what is free,
// at least this.
constexpr uint64_t kMinMarginBytes = 512ULL << 20;
// A context below this is of no use to anybody: fail instead of serving it.
constexpr int32_t kMinContext = 64;
constexpr uint64_t kMaxBlocks = 1ULL << 30;  // block ids are 32-bit
constexpr double kMiB = 1024.0 * 1024.0;

}  // namespace

Result<ResolvedEngine> ResolveEngine(const EngineOptions& options, const HardwareFacts& hardware,
                                     const ModelFacts& model) {
  const int32_t asked_len = options.max_model_len.value;
  if (asked_len > model.max_position) {
    return InvalidArgument("--max-model-len {} is more than the {} positions that the model was made for",
                           asked_len, model.max_position);
  }
  ResolvedEngine resolved;
  SchedulerConfig& scheduler = resolved.config.scheduler;
  scheduler.max_num_seqs = options.max_num_seqs.value;
  scheduler.max_num_batched_tokens =
      std::max(options.max_num_batched_tokens.value, options.max_num_seqs.value);
  scheduler.enable_prefix_caching = options.enable_prefix_caching.value;
  scheduler.groups = model.geometry.groups;
  scheduler.key_root = model.key_root;

  const int32_t wanted_len = asked_len > 0 ? asked_len : model.max_position;
  const uint64_t page_bytes = model.geometry.page_bytes();
  const uint64_t margin = std::max(kMinMarginBytes, hardware.free_memory_bytes / 10);
  uint64_t bytes = options.kv_cache_memory_bytes.value;
  if (bytes == 0 && hardware.free_memory_bytes > margin) bytes = hardware.free_memory_bytes - margin;
  // By itself the pool takes no more than every slot at full length can use; a size that was asked for is
  // kept.
  const int64_t per_sequence = PeakBlocks(scheduler.groups, wanted_len);
  const auto useful_blocks =
      static_cast<uint64_t>(per_sequence) * static_cast<uint64_t>(scheduler.max_num_seqs);
  const uint64_t limit =
      options.kv_cache_memory_bytes.value > 0 ? kMaxBlocks : std::min(useful_blocks, kMaxBlocks);
  const uint64_t num_blocks = std::min(bytes / page_bytes, limit);
  bytes = num_blocks * page_bytes;

  scheduler.num_blocks = static_cast<int32_t>(num_blocks);
  scheduler.max_model_len = wanted_len;
  const int32_t fitting = MaxPositions(scheduler);
  if (fitting < std::min(kMinContext, wanted_len)) {
    return MakeError(
        StatusCode::kResourceExhausted,
        "the KV cache of {:.0f} MiB holds {} tokens of one request; free memory, or give a larger "
        "--kv-cache-memory ({} bytes hold one block of every layer group)",
        static_cast<double>(bytes) / kMiB, fitting, page_bytes * model.geometry.groups.size());
  }
  if (fitting < wanted_len) {
    if (asked_len > 0) {
      return MakeError(
          StatusCode::kResourceExhausted,
          "--max-model-len {} needs {:.0f} MiB of KV cache and {:.0f} MiB are there: {} tokens fit",
          wanted_len, static_cast<double>(per_sequence) * static_cast<double>(page_bytes) / kMiB,
          static_cast<double>(bytes) / kMiB, fitting);
    }
    resolved.notes.push_back(
        fmt::format("the model's context of {} tokens is shortened to {}: the KV cache of {:.0f} MiB holds "
                    "no more; a larger "
                    "--kv-cache-memory lifts this",
                    wanted_len, fitting, static_cast<double>(bytes) / kMiB));
  }
  scheduler.max_model_len = fitting;
  resolved.kv_cache_bytes = bytes;
  resolved.kv_tokens = static_cast<int64_t>(num_blocks) * fitting / PeakBlocks(scheduler.groups, fitting);
  return resolved;
}

}  // namespace firebrick
