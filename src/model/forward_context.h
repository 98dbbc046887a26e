// ForwardContext: all that one forward pass reads and writes, passed and never ambient. Lives on the stack of
// the caller. Thread: the executor's thread; the pool's workers during the call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/kv_view.h"
#include "step/input_batch.h"

namespace firebrick {

struct Ops;
class ThreadPool;
class ForwardScratch;

struct ForwardContext {
  const Ops& ops;
  ThreadPool& pool;
  const InputBatch& batch;
  const KvGeometry& kv_geometry;
  std::byte* kv_arena;  // page b starts at kv_arena + b * kv_geometry.page_bytes()
  ForwardScratch& scratch;
};

}  // namespace firebrick
