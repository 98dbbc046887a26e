#include "device/aligned_buffer.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include <sys/mman.h>

namespace firebrick {
namespace {

constexpr size_t kCacheLine = 64;
constexpr size_t kPage = 4096;
constexpr size_t kHugePage = size_t{2} << 20;

size_t RoundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

// An anonymous mapping of `bytes` that starts at a huge page's border; nullptr where there is no memory.
std::byte* MapHuge(size_t bytes) {
  const size_t length = RoundUp(bytes, kPage);
  const size_t mapped = length + kHugePage;
  void* raw =
      mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) return nullptr;
  auto* begin = static_cast<std::byte*>(raw);
  const size_t skip =
      RoundUp(reinterpret_cast<uintptr_t>(begin), kHugePage) - reinterpret_cast<uintptr_t>(begin);
  if (skip > 0) munmap(begin, skip);
  std::byte* data = begin + skip;
  if (mapped - skip > length) munmap(data + length, mapped - skip - length);
  madvise(data, length, MADV_HUGEPAGE);  // a wish: without huge pages the memory is as good, only slower
  return data;
}

}  // namespace

Result<AlignedBuffer> AlignedBuffer::Allocate(MemoryAccount account, size_t bytes) {
  AlignedBuffer buffer;
  if (bytes == 0) return buffer;
  if (bytes >= kHugePage) {
    buffer.data_ = bytes > SIZE_MAX - 2 * kHugePage ? nullptr : MapHuge(bytes);
  } else {
    buffer.data_ = static_cast<std::byte*>(std::aligned_alloc(kCacheLine, RoundUp(bytes, kCacheLine)));
    if (buffer.data_ != nullptr) std::memset(buffer.data_, 0, bytes);
  }
  if (buffer.data_ == nullptr) {
    return MakeError(StatusCode::kResourceExhausted,
                     "no memory for {} bytes of account '{}': free memory or use a smaller model or KV cache",
                     bytes, NameOf(account));
  }
  buffer.size_ = bytes;
  buffer.account_ = account;
  ProcessLedger().Charge(account, bytes);
  return buffer;
}

AlignedBuffer::AlignedBuffer(AlignedBuffer&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)),
      account_(other.account_) {}

AlignedBuffer& AlignedBuffer::operator=(AlignedBuffer&& other) noexcept {
  if (this != &other) {
    Free();
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    account_ = other.account_;
  }
  return *this;
}

AlignedBuffer::~AlignedBuffer() { Free(); }

void AlignedBuffer::Free() {
  if (data_ == nullptr) return;
  if (size_ >= kHugePage) {
    munmap(data_, RoundUp(size_, kPage));
  } else {
    std::free(data_);
  }
  ProcessLedger().Release(account_, size_);
  data_ = nullptr;
  size_ = 0;
}

}  // namespace firebrick
