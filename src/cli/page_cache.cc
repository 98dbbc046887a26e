#include "cli/page_cache.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/bench_machine.h"

namespace firebrick {
namespace {

constexpr size_t kPage = 4096;

Status FileError(const std::string& path, const char* action) {
  return MakeError(StatusCode::kUnavailable, "cannot {} {}: {}", action, path, std::strerror(errno));
}

}  // namespace

Result<double> DropFromPageCache(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(path, "open");
  ::fsync(fd);  // pages that wait to be written cannot be dropped
  ::posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
  ::close(fd);
  return CachedShare(path);
}

Result<double> CachedShare(const std::string& path) {
  ASSIGN_OR_RETURN(const MappedFile file, MappedFile::Open(path));
  const size_t num_pages = (file.bytes().size() + kPage - 1) / kPage;
  std::vector<unsigned char> resident(num_pages);
  if (::mincore(const_cast<std::byte*>(file.bytes().data()), file.bytes().size(), resident.data()) != 0)
    return FileError(path, "mincore");
  const auto cached =
      std::count_if(resident.begin(), resident.end(), [](unsigned char page) { return (page & 1) != 0; });
  return static_cast<double>(cached) / static_cast<double>(num_pages);
}

Result<double> TimeReading(const std::string& path, bool direct) {
  constexpr size_t kPiece = 4 << 20;
  const std::unique_ptr<void, decltype(&std::free)> buffer(std::aligned_alloc(kPage, kPiece), &std::free);
  std::memset(buffer.get(), 0, kPiece);
  const auto begin = std::chrono::steady_clock::now();
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | (direct ? O_DIRECT : 0));
  if (fd < 0 && direct) fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return FileError(path, "open");
  ssize_t got = 0;
  do {
    got = ::read(fd, buffer.get(), kPiece);
  } while (got > 0 || (got < 0 && errno == EINTR));
  ::close(fd);
  if (got < 0) return FileError(path, "read");
  return SecondsSince(begin);
}

void TouchFreeMemory(uint64_t bytes) {
  void* memory =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return;
  ::madvise(memory, bytes, MADV_HUGEPAGE);
  for (uint64_t at = 0; at < bytes; at += kPage) static_cast<volatile char*>(memory)[at] = 1;
  ::munmap(memory, bytes);
}

}  // namespace firebrick
