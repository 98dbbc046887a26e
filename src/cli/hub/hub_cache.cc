#include "cli/hub/hub_cache.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <vector>

#include <fcntl.h>
#include <openssl/evp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checksum.h"
#include "base/file.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 1 << 20;

Status SystemError(std::string_view doing, const std::string& path) {
  const int error = errno;
  const StatusCode code = error == ENOSPC ? StatusCode::kResourceExhausted : StatusCode::kUnavailable;
  return MakeError(error == EACCES || error == EROFS ? StatusCode::kFailedPrecondition : code,
                   "cannot {} {}: {}", doing, path, std::strerror(error));  // NOLINT(concurrency-mt-unsafe)
}

Status MakeFolders(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    return MakeError(StatusCode::kFailedPrecondition, "cannot make the folder {}: {}", path, error.message());
  return OkStatus();
}

bool IsHex(std::string_view text) {
  return std::all_of(text.begin(), text.end(),
                     [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

// The etags of hubs are digests and name the blob; one that is no plain name is hashed.
std::string BlobName(const std::string& etag) {
  const bool plain = etag.size() <= 128 && std::all_of(etag.begin(), etag.end(), [](char c) {
                       return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                              c == '-' || c == '_';
                     });
  return plain && !etag.empty() ? etag : "etag-" + ToHex(Sha256Of(etag));
}

// Feeds the bytes of an open file to `update`.
template <typename Update>
Status ReadAll(int fd, const std::string& path, Update update) {
  std::vector<char> buffer(kReadBytes);
  for (uint64_t at = 0;;) {
    const ssize_t got = pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return SystemError("read", path);
    if (got == 0) return OkStatus();
    update(std::string_view(buffer.data(), static_cast<size_t>(got)));
    at += static_cast<uint64_t>(got);
  }
}

// SHA-1 of "blob SIZE\0" and the bytes, as git names a file.
Result<std::string> GitBlobHash(int fd, const std::string& path, uint64_t size) {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  CHECK(context != nullptr && EVP_DigestInit_ex(context, EVP_sha1(), nullptr) == 1);
  std::string header = fmt::format("blob {}", size);
  header.push_back('\0');
  EVP_DigestUpdate(context, header.data(), header.size());
  const Status read = ReadAll(
      fd, path, [context](std::string_view bytes) { EVP_DigestUpdate(context, bytes.data(), bytes.size()); });
  std::array<uint8_t, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  EVP_DigestFinal_ex(context, digest.data(), &length);
  EVP_MD_CTX_free(context);
  if (!read.ok()) return read;
  return ToHex(std::span<const uint8_t>(digest.data(), length));
}

}  // namespace

Result<PartialBlob> PartialBlob::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return SystemError("open", path);
  PartialBlob blob(path, fd, 0);
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return MakeError(StatusCode::kFailedPrecondition, "another process is downloading {}; wait for it to end",
                     path);
  }
  struct stat info {};
  if (fstat(fd, &info) != 0) return SystemError("look at", path);
  blob.size_ = static_cast<uint64_t>(info.st_size);
  return blob;
}

PartialBlob::PartialBlob(PartialBlob&& other) noexcept
    : path_(std::move(other.path_)), fd_(std::exchange(other.fd_, -1)), size_(other.size_) {}

PartialBlob::~PartialBlob() {
  if (fd_ >= 0) close(fd_);
}

Status PartialBlob::Truncate(uint64_t size) {
  if (ftruncate(fd_, static_cast<off_t>(size)) != 0) return SystemError("shorten", path_);
  size_ = size;
  return OkStatus();
}

Status PartialBlob::Append(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = pwrite(fd_, bytes.data(), bytes.size(), static_cast<off_t>(size_));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return SystemError("write", path_);
    size_ += static_cast<uint64_t>(wrote);
    bytes.remove_prefix(static_cast<size_t>(wrote));
  }
  return OkStatus();
}

Status PartialBlob::Verify(const std::string& etag) const {
  std::string actual;
  if (etag.size() == 64 && IsHex(etag)) {
    Sha256 hasher;
    RETURN_IF_ERROR(ReadAll(fd_, path_, [&hasher](std::string_view bytes) { hasher.Update(bytes); }));
    actual = ToHex(hasher.Finish());
  } else if (etag.size() == 40 && IsHex(etag)) {
    ASSIGN_OR_RETURN(actual, GitBlobHash(fd_, path_, size_));
  } else {
    return OkStatus();
  }
  if (actual == etag) return OkStatus();
  return DataLoss("the checksum is {}, the hub says {}", actual, etag);
}

Status PartialBlob::Flush() {
  if (fsync(fd_) != 0) return SystemError("write", path_);
  return OkStatus();
}

std::string HubCache::BlobPath(const std::string& etag) const { return folder_ + "/blobs/" + BlobName(etag); }

bool HubCache::HasBlob(const std::string& etag, std::optional<uint64_t> size) const {
  std::error_code error;
  const std::string path = BlobPath(etag);
  if (!fs::is_regular_file(path, error)) return false;
  return !size.has_value() || fs::file_size(path, error) == *size;
}

Result<PartialBlob> HubCache::OpenPartial(const std::string& etag) const {
  RETURN_IF_ERROR(MakeFolders(folder_ + "/blobs"));
  return PartialBlob::Open(BlobPath(etag) + ".incomplete");
}

Status HubCache::Commit(const std::string& etag) const {
  const std::string path = BlobPath(etag);
  if (rename((path + ".incomplete").c_str(), path.c_str()) != 0)
    return SystemError("rename", path + ".incomplete");
  return OkStatus();
}

void HubCache::Discard(const std::string& etag) const { unlink((BlobPath(etag) + ".incomplete").c_str()); }

Result<std::string> HubCache::Link(const std::string& commit, const std::string& file,
                                   const std::string& etag) const {
  const fs::path path = fs::path(SnapshotPath(commit)) / file;
  RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  std::string target = "../../";
  for (const char c : file) target += c == '/' ? "../" : "";
  target += "blobs/" + BlobName(etag);
  std::error_code error;
  if (fs::is_symlink(path, error) && fs::read_symlink(path, error) == target) return path.string();
  // A link beside it, renamed: a reader sees the old one or the new one.
  const std::string fresh = path.string() + fmt::format(".{}.link", getpid());
  fs::remove(fresh, error);
  fs::create_symlink(target, fresh, error);
  if (!error) fs::rename(fresh, path, error);
  if (error) {
    return MakeError(StatusCode::kFailedPrecondition, "cannot link {}: {}", path.string(), error.message());
  }
  return path.string();
}

Status HubCache::SetRef(const std::string& revision, const std::string& commit) const {
  const fs::path path = fs::path(folder_) / "refs" / revision;
  RETURN_IF_ERROR(MakeFolders(path.parent_path()));
  return WriteFileAtomically(path, commit);
}

uint64_t HubCache::FreeBytes() const {
  std::error_code error;
  for (fs::path path = folder_; !path.empty(); path = path.parent_path()) {
    if (fs::exists(path, error)) return fs::space(path, error).available;
    if (path == path.parent_path()) break;
  }
  return UINT64_MAX;
}

}  // namespace firebrick
