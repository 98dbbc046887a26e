#include "base/file.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace firebrick {
namespace {

// Owns a file descriptor for the length of a function.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

Status SystemError(const std::string& path, const char* action) {
  const int error = errno;
  const StatusCode code = error == ENOENT ? StatusCode::kNotFound : StatusCode::kUnavailable;
  return MakeError(code, "cannot {} {}: {}", action, path, std::strerror(error));
}

Result<uint64_t> RegularFileSize(int fd, const std::string& path) {
  struct stat info {};
  if (::fstat(fd, &info) != 0) return SystemError(path, "stat");
  if (!S_ISREG(info.st_mode)) return InvalidArgument("{} is not a regular file", path);
  return static_cast<uint64_t>(info.st_size);
}

}  // namespace

Result<std::string> ReadFile(const std::string& path, uint64_t max_bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "open");
  ASSIGN_OR_RETURN(const uint64_t size, RegularFileSize(file.get(), path));
  if (size > max_bytes) {
    return MakeError(StatusCode::kResourceExhausted, "{} has {} bytes, the limit is {}", path, size,
                     max_bytes);
  }
  // Files of /proc and /sys say size 0 and have bytes all the same, so the end is where reading ends.
  constexpr uint64_t kSmallestRead = 4096;
  std::string bytes;
  bytes.reserve(size + kSmallestRead);
  while (true) {
    const size_t done = bytes.size();
    bytes.resize(std::max(size, done + kSmallestRead));
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    bytes.resize(done + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError(path, "read");
    if (got == 0) break;
    if (bytes.size() > max_bytes) {
      return MakeError(StatusCode::kResourceExhausted, "{} is longer than the limit of {} bytes", path,
                       max_bytes);
    }
  }
  if (bytes.size() < size) return DataLoss("{} became shorter while it was read", path);
  return bytes;
}

Status WriteFileAtomically(const std::string& path, std::string_view bytes) {
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  {
    const Descriptor file(::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
    if (file.get() < 0) return SystemError(temporary, "create");
    size_t done = 0;
    while (done < bytes.size()) {
      const ssize_t put = ::write(file.get(), bytes.data() + done, bytes.size() - done);
      if (put < 0 && errno == EINTR) continue;
      if (put < 0) {
        Status error = SystemError(temporary, "write");
        ::unlink(temporary.c_str());
        return error;
      }
      done += static_cast<size_t>(put);
    }
    if (::fsync(file.get()) != 0) return SystemError(temporary, "sync");
  }
  if (::rename(temporary.c_str(), path.c_str()) != 0) return SystemError(path, "rename to");
  return OkStatus();
}

void ReadAheadOf(const std::string& path, uint64_t bytes) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return;
  ::posix_fadvise(file.get(), 0, static_cast<off_t>(bytes), POSIX_FADV_WILLNEED);
}

Result<MappedFile> MappedFile::Open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return SystemError(path, "open");
  ASSIGN_OR_RETURN(const uint64_t size, RegularFileSize(file.get(), path));
  if (size == 0) return DataLoss("{} is empty", path);
  void* address = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (address == MAP_FAILED) return SystemError(path, "map");
  return MappedFile(path, static_cast<const std::byte*>(address), size);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : path_(std::move(other.path_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    Close();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
  }
  return *this;
}

MappedFile::~MappedFile() { Close(); }

void MappedFile::Close() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
  data_ = nullptr;
}

void MappedFile::DropPages(uint64_t offset, uint64_t length) const {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = (offset + page - 1) / page * page;
  const uint64_t end = std::min<uint64_t>(offset + length, size_) / page * page;
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

void MappedFile::Advise(uint64_t offset, uint64_t length, int advice) const {
  const uint64_t page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t begin = offset / page * page;
  const uint64_t end = std::min<uint64_t>(offset + length, size_);
  if (begin < end) ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, advice);
}

void MappedFile::WillNeed(uint64_t offset, uint64_t length) const { Advise(offset, length, MADV_WILLNEED); }

void MappedFile::Populate(uint64_t offset, uint64_t length) const {
  constexpr int kPopulateRead =
      22;  // MADV_POPULATE_READ; headers of Debian 12 name it, older kernels refuse it
  Advise(offset, length, kPopulateRead);
}

}  // namespace firebrick
