#include "cli/pull.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>

#include "base/env.h"
#include "cli/commands.h"
#include "cli/hub/hub_cache.h"
#include "cli/hub/hub_client.h"
#include "cli/hub/hub_name.h"
#include "cli/model_path.h"
#include "cli/progress.h"
#include "config/parse.h"

namespace firebrick {
namespace {

constexpr std::chrono::milliseconds kFirstPause{500};
constexpr std::chrono::milliseconds kLongestPause{8000};

class ModelPull {
 public:
  ModelPull(const PullOptions& options, HubName name)
      : options_(options),
        name_(std::move(name)),
        client_(HubClient::OptionsFromEnvironment()),
        cache_(HubCacheFolder() + "/" + HubFolderName(name_.repo)) {}

  // The path to print.
  Result<std::string> Run() {
    ASSIGN_OR_RETURN(const HubClient::Listing listing,
                     Retry([&] { return client_.List(name_.repo, options_.revision); }));
    commit_ = listing.commit;
    ASSIGN_OR_RETURN(const std::vector<std::string> files,
                     SelectHubFiles(listing.files, name_.selector, options_.include));
    std::vector<HubClient::FileInfo> infos;
    uint64_t missing_bytes = 0;
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(HubClient::FileInfo info,
                       Retry([&] { return client_.Describe(name_.repo, commit_, file); }));
      if (!cache_.HasBlob(info.etag, info.size)) missing_bytes += info.size.value_or(0);
      infos.push_back(std::move(info));
    }
    if (missing_bytes > cache_.FreeBytes()) {
      return MakeError(StatusCode::kResourceExhausted,
                       "{} needs {}, and {} are free in {}; set HF_HOME to a larger disk", name_.repo,
                       FormatBytes(missing_bytes), FormatBytes(cache_.FreeBytes()), HubCacheFolder());
    }
    std::string first_path;
    for (size_t i = 0; i < files.size(); ++i) {
      ASSIGN_OR_RETURN(const std::string path, PullFile(files[i], infos[i]));
      if (first_path.empty()) first_path = path;
    }
    // Last: what a revision names is whole.
    RETURN_IF_ERROR(cache_.SetRef(options_.revision, commit_));
    return name_.selector.empty() ? cache_.SnapshotPath(commit_) : first_path;
  }

 private:
  // Runs `attempt` again where another try may help.
  template <typename Attempt>
  auto Retry(Attempt attempt) -> decltype(attempt()) {
    std::chrono::milliseconds pause = kFirstPause;
    for (int turn = 1;; ++turn) {
      auto result = attempt();
      const Status status = StatusOf(result);
      if (status.code() != StatusCode::kUnavailable || turn >= options_.num_tries) return result;
      std::cerr << fmt::format("{}; trying again in {:.1f} s\n", status.message(),
                               std::chrono::duration<double>(pause).count());
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, kLongestPause);
    }
  }
  static const Status& StatusOf(const Status& status) { return status; }
  template <typename T>
  static const Status& StatusOf(const Result<T>& result) {
    return result.status();
  }

  Result<std::string> PullFile(const std::string& file, const HubClient::FileInfo& info) {
    if (!cache_.HasBlob(info.etag, info.size)) {
      RETURN_IF_ERROR(Fetch(file, info));
    }
    return cache_.Link(commit_, file, info.etag);
  }

  Status Fetch(const std::string& file, const HubClient::FileInfo& info) {
    ASSIGN_OR_RETURN(PartialBlob blob, cache_.OpenPartial(info.etag));
    if (info.size.has_value() && blob.size() > *info.size) RETURN_IF_ERROR(blob.Truncate(0));
    ProgressBar bar(file, info.size.value_or(0), blob.size());
    const bool whole = info.size.has_value() && blob.size() == *info.size && *info.size > 0;
    if (!whole) {
      RETURN_IF_ERROR(Retry([&] { return FetchRest(file, info, &blob, &bar); }));
    }
    if (info.size.has_value() && blob.size() != *info.size) {
      return MakeError(StatusCode::kDataLoss, "{}: {} bytes came, the hub says {}", file, blob.size(),
                       *info.size);
    }
    const Status verified = blob.Verify(info.etag);
    if (!verified.ok()) {
      cache_.Discard(info.etag);
      return MakeError(verified.code(), "{}: {}; what came was thrown away, pull again", file,
                       verified.message());
    }
    RETURN_IF_ERROR(blob.Flush());
    RETURN_IF_ERROR(cache_.Commit(info.etag));
    bar.Finish();
    return OkStatus();
  }

  Status FetchRest(const std::string& file, const HubClient::FileInfo& info, PartialBlob* blob,
                   ProgressBar* bar) {
    HubClient::Sink sink;
    sink.begin = [&](uint64_t offset) {
      return offset == blob->size() ? OkStatus() : blob->Truncate(offset);
    };
    sink.write = [&](std::string_view bytes) -> Status {
      if (info.size.has_value() && bytes.size() > *info.size - std::min(blob->size(), *info.size)) {
        return MakeError(StatusCode::kDataLoss, "{}: the hub sends more than the {} bytes that it announced",
                         file, *info.size);
      }
      RETURN_IF_ERROR(blob->Append(bytes));
      bar->Update(blob->size());
      return OkStatus();
    };
    return client_.Download(name_.repo, commit_, file, blob->size(), sink);
  }

  const PullOptions& options_;
  const HubName name_;
  HubClient client_;
  HubCache cache_;
  std::string commit_;
};

}  // namespace

Status Pull(const PullOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(HubName name, ParseHubName(options.name));
  if (!IsSafeHubPath(options.revision)) return InvalidArgument("'{}' is not a revision", options.revision);
  std::string path;
  if (EnvFlag("HF_HUB_OFFLINE")) {
    Result<std::string> held = ResolveModelPath(options.name);
    if (!held.ok()) {
      return MakeError(StatusCode::kFailedPrecondition,
                       "HF_HUB_OFFLINE is set and {} is not in {}; unset it to download", options.name,
                       HubCacheFolder());
    }
    path = *std::move(held);
  } else {
    ASSIGN_OR_RETURN(path, ModelPull(options, std::move(name)).Run());
  }
  out << path << std::endl;
  return OkStatus();
}

CommandAction DeclarePull(FlagSet* flags) {
  auto options = std::make_shared<PullOptions>();
  flags->RequiredPositional("NAME", "ORG/NAME; with :FILE or :QUANT one GGUF file of it", &options->name);
  flags->Text("--revision", "REV", "Branch, tag or commit", &options->revision);
  flags->TextList("--include", "PATTERN", "Files to have, instead of weights, JSON and tokenizer",
                  &options->include);
  flags->Integer("--tries", "N", "Of each file, where the connection breaks", &options->num_tries, 1, 1000);
  flags->Example("firebrick pull HuggingFaceTB/SmolLM2-135M-Instruct");
  return [options]() -> Status { return Pull(*options, std::cout); };
}

}  // namespace firebrick
