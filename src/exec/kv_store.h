// KvStore: the bytes of the KV arena on one rank. Owned by the executor; the scheduler never sees it.
// Memory is reserved at once and becomes resident page by page as blocks are first written.
// Thread: the executor's thread writes; pool threads read and write inside a step.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "kernels/kv_view.h"
#include "step/step_plan.h"

namespace firebrick {

class KvStore {
 public:
  // kResourceExhausted where the address space or the memory limit does not hold num_blocks pages.
  static Result<KvStore> Create(const KvGeometry& geometry, int32_t num_blocks);
  KvStore(KvStore&& other) noexcept;
  KvStore& operator=(KvStore&&) = delete;
  KvStore(const KvStore&) = delete;
  KvStore& operator=(const KvStore&) = delete;
  ~KvStore();

  const KvGeometry& geometry() const { return geometry_; }
  int32_t num_blocks() const { return num_blocks_; }
  std::byte* base() const { return base_; }
  std::byte* PageOf(BlockId block) const { return base_ + geometry_.page_bytes() * block.value(); }

  // Clears the V tiles of a page: a fresh page may hold a NaN that 0 x NaN would carry into another request.
  void ZeroValues(BlockId block) const;

 private:
  KvStore(KvGeometry geometry, int32_t num_blocks, std::byte* base, size_t bytes)
      : geometry_(std::move(geometry)), num_blocks_(num_blocks), base_(base), bytes_(bytes) {}
  KvGeometry geometry_;
  int32_t num_blocks_;
  std::byte* base_;
  size_t bytes_;
};

}  // namespace firebrick
