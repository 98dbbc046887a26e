// AlignedBuffer: zero-filled memory for tensors, charged to an account of the ledger. From 2 MiB on it starts
// at a 2 MiB border and asks for huge pages; smaller ones start at a cache line. Move-only; one owner.
// Thread: the object belongs to one thread at a time, its bytes may be shared.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "device/ledger.h"

namespace firebrick {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  // kResourceExhausted where the system has no such memory. Untouched pages of a large buffer are not
  // resident yet.
  static Result<AlignedBuffer> Allocate(MemoryAccount account, size_t bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept;
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept;
  AlignedBuffer(const AlignedBuffer&) = delete;
  AlignedBuffer& operator=(const AlignedBuffer&) = delete;
  ~AlignedBuffer();

  std::byte* data() { return data_; }
  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  template <typename T>
  T* as() {
    return reinterpret_cast<T*>(data_);
  }
  template <typename T>
  const T* as() const {
    return reinterpret_cast<const T*>(data_);
  }

 private:
  void Free();
  std::byte* data_ = nullptr;
  size_t size_ = 0;
  MemoryAccount account_ = MemoryAccount::kOther;
};

}  // namespace firebrick
