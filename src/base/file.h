// Files: whole reads with a limit, and read-only mappings whose pages can be dropped again.
// Thread: any; a MappedFile is owned by one thread at a time, its bytes may be read by all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace firebrick {

// Reads a regular file. Fails with kNotFound, or kResourceExhausted where it is longer than max_bytes.
Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes);

// Writes a temporary file beside `path` and renames it, so that a reader sees the old bytes or the new ones.
Status WriteFileAtomically(const std::string& path, std::string_view bytes);

// Asks the kernel to read the first `bytes` of a regular file into the page cache, and does not wait. A wish:
// whoever opens the file next says what is wrong with it.
void ReadAheadOf(const std::string& path, uint64_t bytes);

// A read-only private mapping of a whole regular file. Move-only.
class MappedFile {
 public:
  static Result<MappedFile> Open(const std::string& path);
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Drops the whole pages inside [offset, offset + length) from this process's memory; reading them again
  // loads them again. Pages that the range covers only in part stay.
  void DropPages(uint64_t offset, uint64_t length) const;
  // Asks the kernel to read [offset, offset + length) ahead.
  void WillNeed(uint64_t offset, uint64_t length) const;
  // Brings [offset, offset + length) into this process's page tables at once, which costs a fraction of the
  // page faults that it saves. A wish: reading works without.
  void Populate(uint64_t offset, uint64_t length) const;

 private:
  MappedFile(std::string path, const std::byte* data, size_t size)
      : path_(std::move(path)), data_(data), size_(size) {}
  void Close();
  void Advise(uint64_t offset, uint64_t length, int advice) const;
  std::string path_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

}  // namespace firebrick
