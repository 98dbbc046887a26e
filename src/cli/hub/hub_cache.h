// HubCache: a model's folder in the cache that hub clients share: blobs/ETAG holds the bytes,
// snapshots/COMMIT/FILE links to them, refs/REVISION names the commit. Thread: one; several processes may
// pull at once.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "cli/hub/hub_client.h"

namespace firebrick {

// A file that is being downloaded: blobs/ETAG.incomplete, locked against other processes while it is open.
class PartialBlob {
 public:
  // Opens or creates it. kFailedPrecondition where another process holds it.
  static Result<PartialBlob> Open(const std::string& path);
  PartialBlob(PartialBlob&& other) noexcept;
  PartialBlob& operator=(PartialBlob&& other) = delete;
  PartialBlob(const PartialBlob&) = delete;
  PartialBlob& operator=(const PartialBlob&) = delete;
  ~PartialBlob();

  uint64_t size() const { return size_; }
  // Keeps the first `size` bytes.
  Status Truncate(uint64_t size);
  Status Append(std::string_view bytes);
  // Compares the bytes with the etag: SHA-256 (64 digits) or git's SHA-1 of a blob (40 digits); any other
  // etag says nothing about the bytes. kDataLoss where they differ.
  Status Verify(const std::string& etag) const;
  Status Flush();

 private:
  PartialBlob(std::string path, int fd, uint64_t size) : path_(std::move(path)), fd_(fd), size_(size) {}
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
};

class HubCache {
 public:
  // `folder` is models--ORG--NAME; made where it is absent.
  explicit HubCache(std::string folder) : folder_(std::move(folder)) {}

  // The path of a finished blob; the etag is made a safe file name.
  std::string BlobPath(const std::string& etag) const;
  bool HasBlob(const std::string& etag, std::optional<uint64_t> size) const;
  Result<PartialBlob> OpenPartial(const std::string& etag) const;
  // blobs/ETAG.incomplete becomes blobs/ETAG.
  Status Commit(const std::string& etag) const;
  void Discard(const std::string& etag) const;
  // snapshots/COMMIT/FILE becomes a link to the blob; returns its path.
  Result<std::string> Link(const std::string& commit, const std::string& file, const std::string& etag) const;
  Status SetRef(const std::string& revision, const std::string& commit) const;
  std::string SnapshotPath(const std::string& commit) const { return folder_ + "/snapshots/" + commit; }
  uint64_t FreeBytes() const;

 private:
  std::string folder_;
};

}  // namespace firebrick
