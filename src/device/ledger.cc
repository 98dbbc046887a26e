#include "device/ledger.h"

#include "base/status.h"

namespace firebrick {

std::string_view NameOf(MemoryAccount account) {
  switch (account) {
    case MemoryAccount::kWeights:
      return "weights";
    case MemoryAccount::kKvCache:
      return "kv_cache";
    case MemoryAccount::kActivations:
      return "activations";
    case MemoryAccount::kScratch:
      return "scratch";
    case MemoryAccount::kText:
      return "text";
    case MemoryAccount::kOther:
      return "other";
  }
  return "unknown";
}

void MemoryLedger::Charge(MemoryAccount account, size_t bytes) {
  Counter& counter = counters_[static_cast<size_t>(account)];
  const size_t now = counter.bytes.fetch_add(bytes) + bytes;
  size_t peak = counter.peak.load();
  while (now > peak && !counter.peak.compare_exchange_weak(peak, now)) {
  }
}

void MemoryLedger::Release(MemoryAccount account, size_t bytes) {
  const size_t before = counters_[static_cast<size_t>(account)].bytes.fetch_sub(bytes);
  CHECK_MSG(before >= bytes, "account {} releases more than it was charged", NameOf(account));
}

size_t MemoryLedger::BytesOf(MemoryAccount account) const {
  return counters_[static_cast<size_t>(account)].bytes.load();
}

size_t MemoryLedger::PeakOf(MemoryAccount account) const {
  return counters_[static_cast<size_t>(account)].peak.load();
}

size_t MemoryLedger::TotalBytes() const {
  size_t total = 0;
  for (const Counter& counter : counters_) total += counter.bytes.load();
  return total;
}

MemoryLedger& ProcessLedger() {
  static MemoryLedger ledger;
  return ledger;
}

}  // namespace firebrick
