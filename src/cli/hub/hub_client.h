// HubClient: the HTTP side of a model hub: list of files, what a file is, its bytes. Thread: one.
// API: GET /api/models/NAME/revision/REV (sha, siblings), /NAME/resolve/COMMIT/FILE with ETag, X-Linked-Etag,
// X-Linked-Size; large files are redirected to a store. The token goes to the hub's own host only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"

namespace firebrick {

class HubClient {
 public:
  struct Options {
    std::string endpoint;  // "https://host", no slash at the end
    std::string token;     // empty: none
  };
  // HF_ENDPOINT and HF_TOKEN.
  static Options OptionsFromEnvironment();

  explicit HubClient(Options options);
  ~HubClient();
  HubClient(const HubClient&) = delete;
  HubClient& operator=(const HubClient&) = delete;

  struct Listing {
    std::string commit;
    std::vector<std::string> files;  // all of them safe paths
  };
  Result<Listing> List(const std::string& repo, const std::string& revision);

  struct FileInfo {
    std::string
        etag;  // without quotes: SHA-256 of a large file, git's SHA-1 of a small one, or anything else
    std::optional<uint64_t> size;
  };
  Result<FileInfo> Describe(const std::string& repo, const std::string& commit, const std::string& file);

  struct Sink {
    // Before the first byte: the offset in the file at which the bytes begin, `from` or 0.
    std::function<Status(uint64_t offset)> begin;
    std::function<Status(std::string_view bytes)> write;
  };
  // kUnavailable where another try may help (connection lost, server busy); the sink keeps what came.
  Status Download(const std::string& repo, const std::string& commit, const std::string& file, uint64_t from,
                  const Sink& sink);

 private:
  struct Transfer;
  std::string FileUrl(const std::string& repo, const std::string& commit, const std::string& file) const;
  Status Perform(Transfer* transfer, const std::string& url, const std::string& what);
  Status CheckCode(const Transfer& transfer, const std::string& what) const;

  Options options_;
  void* curl_;  // CURL*
};

}  // namespace firebrick
