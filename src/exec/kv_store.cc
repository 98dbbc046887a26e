#include "exec/kv_store.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <sys/mman.h>

#include "device/ledger.h"

namespace firebrick {

Result<KvStore> KvStore::Create(const KvGeometry& geometry, int32_t num_blocks) {
  CHECK(num_blocks > 0 && geometry.page_bytes() > 0);
  const size_t bytes = geometry.page_bytes() * static_cast<size_t>(num_blocks);
  void* base =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) {
    return MakeError(StatusCode::kResourceExhausted,
                     "cannot reserve {} MiB for the KV cache: {}; give a smaller --kv-cache-memory",
                     bytes >> 20, std::strerror(errno));
  }
  ::madvise(base, bytes, MADV_HUGEPAGE);
  ProcessLedger().Charge(MemoryAccount::kKvCache, bytes);
  return KvStore(geometry, num_blocks, static_cast<std::byte*>(base), bytes);
}

KvStore::KvStore(KvStore&& other) noexcept
    : geometry_(std::move(other.geometry_)),
      num_blocks_(other.num_blocks_),
      base_(std::exchange(other.base_, nullptr)),
      bytes_(other.bytes_) {}

KvStore::~KvStore() {
  if (base_ == nullptr) return;
  ::munmap(base_, bytes_);
  ProcessLedger().Release(MemoryAccount::kKvCache, bytes_);
}

void KvStore::ZeroValues(BlockId block) const {
  const size_t value_bytes = geometry_.tile_bytes() * static_cast<size_t>(geometry_.num_kv_heads);
  for (int32_t layer = 0; layer < geometry_.layers_per_page(); ++layer) {
    std::memset(PageOf(block) + geometry_.ValueOffset(layer, 0), 0, value_bytes);
  }
}

}  // namespace firebrick
