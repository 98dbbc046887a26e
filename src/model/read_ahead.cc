#include "model/read_ahead.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/thread_name.h"

namespace firebrick {
namespace {

// Two of the largest requests that the kernel cuts a wish into keep a disk busy; more gives nothing.
constexpr uint64_t kReadBytes = 4 << 20;
constexpr uint64_t kWindowBytes = 48 << 20;
constexpr uint64_t kStopped = std::numeric_limits<uint64_t>::max() / 2;

}  // namespace

ReadAhead::ReadAhead(const Checkpoint& checkpoint, std::vector<const RawTensor*> tensors)
    : checkpoint_(checkpoint), tensors_(std::move(tensors)), thread_([this] { Run(); }) {}

ReadAhead::~ReadAhead() {
  done_bytes_.store(kStopped);
  done_bytes_.notify_all();
  thread_.join();
}

void ReadAhead::Advance(uint64_t bytes) {
  done_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  done_bytes_.notify_one();
}

void ReadAhead::Run() {
  NameThread("fb-readahead");
  uint64_t asked_bytes = 0;
  for (const RawTensor* tensor : tensors_) {
    const MappedFile& file = checkpoint_.files()[tensor->file_index];
    for (uint64_t at = 0; at < tensor->data.size(); at += kReadBytes) {
      uint64_t done = done_bytes_.load(std::memory_order_relaxed);
      while (asked_bytes >= done + kWindowBytes) {
        done_bytes_.wait(done, std::memory_order_relaxed);
        done = done_bytes_.load(std::memory_order_relaxed);
      }
      if (done >= kStopped) return;
      const uint64_t size = std::min<uint64_t>(kReadBytes, tensor->data.size() - at);
      file.WillNeed(tensor->file_offset + at, size);
      asked_bytes += size;
    }
  }
}

}  // namespace firebrick
