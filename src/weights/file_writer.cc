#include "weights/file_writer.h"

#include <cerrno>
#include <cstring>
#include <utility>

#include <fcntl.h>
#include <unistd.h>

namespace firebrick {
namespace {

Status WriteError(const std::string& path, const char* action) {
  const int error = errno;
  const StatusCode code = error == ENOSPC ? StatusCode::kResourceExhausted : StatusCode::kUnavailable;
  return MakeError(code, "cannot {} {}: {}", action, path, std::strerror(error));
}

}  // namespace

Result<FileWriter> FileWriter::Create(const std::string& path, const FileLayout& layout) {
  const std::string part = path + ".part";
  const int fd = ::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return WriteError(part, "create");
  FileWriter writer(path, fd);
  // Asking for the whole length first tells a full disk at once, not after minutes.
  const int error = ::posix_fallocate(fd, 0, static_cast<off_t>(layout.file_bytes));
  if (error == ENOSPC || error == EFBIG) {
    errno = error;
    return WriteError(part, fmt::format("reserve {} bytes for", layout.file_bytes).c_str());
  }
  if (error != 0 && ::ftruncate(fd, static_cast<off_t>(layout.file_bytes)) != 0)
    return WriteError(part, "size");
  RETURN_IF_ERROR(writer.WriteAt(0, std::as_bytes(std::span(layout.header))));
  return writer;
}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)) {}

FileWriter::~FileWriter() {
  if (fd_ < 0) return;
  ::close(fd_);
  ::unlink((path_ + ".part").c_str());
}

Status FileWriter::WriteAt(uint64_t offset, std::span<const std::byte> bytes) const {
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t put =
        ::pwrite(fd_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return WriteError(path_ + ".part", "write");
    done += static_cast<size_t>(put);
  }
  return OkStatus();
}

Status FileWriter::Finish() {
  const std::string part = path_ + ".part";
  const int closed = ::close(std::exchange(fd_, -1));
  if (closed != 0 || ::rename(part.c_str(), path_.c_str()) != 0) {
    const Status error = WriteError(path_, "finish");
    ::unlink(part.c_str());
    return error;
  }
  return OkStatus();
}

}  // namespace firebrick
