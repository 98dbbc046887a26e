// The memory ledger: every allocation of 1 MiB or more is charged to a named account, so that the plan, the
// metrics and a person can see where the memory went. It counts for the whole process, as memory does.
// Thread: any (atomic counters).
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace firebrick {

enum class MemoryAccount : uint8_t { kWeights, kKvCache, kActivations, kScratch, kText, kOther };
inline constexpr size_t kNumMemoryAccounts = 6;
std::string_view NameOf(MemoryAccount account);

class MemoryLedger {
 public:
  void Charge(MemoryAccount account, size_t bytes);
  void Release(MemoryAccount account, size_t bytes);
  size_t BytesOf(MemoryAccount account) const;
  size_t PeakOf(MemoryAccount account) const;
  size_t TotalBytes() const;

 private:
  struct Counter {
    std::atomic<size_t> bytes{0};
    std::atomic<size_t> peak{0};
  };
  std::array<Counter, kNumMemoryAccounts> counters_;
};

// The ledger of this process.
MemoryLedger& ProcessLedger();

}  // namespace firebrick
