#include "cli/hub/hub_client.h"

#include <algorithm>
#include <charconv>
#include <map>

#include <curl/curl.h>

#include "base/env.h"
#include "base/json.h"
#include "cli/hub/hub_name.h"

namespace firebrick {
namespace {

constexpr char kDefaultEndpoint[] = "https://huggingface.co";
constexpr size_t kMaxListBytes = 64 << 20;
constexpr size_t kMaxFiles = 100'000;
constexpr size_t kMaxHeaderBytes = 1 << 20;
constexpr long kConnectSeconds = 20;
constexpr long kStallSeconds = 60;  // without a byte
constexpr long kMaxRedirects = 5;

// Percent-encodes all but unreserved characters and '/'.
std::string EncodePath(std::string_view path) {
  std::string out;
  for (const char c : path) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '_' || c == '.' || c == '~' || c == '/';
    if (plain) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out;
}

std::string CleanEtag(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  if (etag.size() >= 2 && etag.front() == '"' && etag.back() == '"') etag = etag.substr(1, etag.size() - 2);
  return std::string(etag);
}

std::optional<uint64_t> ParseSize(std::string_view text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

bool IsCommit(std::string_view text) {
  return text.size() >= 7 && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

// One request with all that curl calls back for.
struct HubClient::Transfer {
  CURL* curl = nullptr;
  bool head = false;
  bool follow = true;  // redirects
  uint64_t from = 0;
  const Sink* sink = nullptr;  // null: the body goes into `body`
  std::string body;
  std::map<std::string, std::string> headers;  // of the last response; names in lower case
  std::map<std::string, std::string> first;    // of the first one: a redirect keeps what the hub itself said
  size_t header_bytes = 0;
  bool begun = false;
  Status status;  // what a callback found wrong

  long Code() const {
    long code = 0;
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &code);
    return code;
  }

  const std::string* Header(const std::string& name) const {
    for (const auto* set : {&first, &headers}) {
      if (const auto found = set->find(name); found != set->end()) return &found->second;
    }
    return nullptr;
  }

  void AddHeader(std::string_view line) {
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) {
      if (first.empty()) first = std::move(headers);
      headers.clear();
      return;
    }
    const size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    const size_t value = std::min(line.find_first_not_of(" \t", colon + 1), line.size());
    headers[std::move(name)] = line.substr(value);
  }

  // Where the body begins in the file.
  Status Begin() {
    begun = true;
    uint64_t offset = 0;
    if (Code() == 206) {
      const auto range = headers.find("content-range");
      const std::string expected = fmt::format("bytes {}-", from);
      if (range == headers.end() || !range->second.starts_with(expected)) {
        return Status(StatusCode::kDataLoss, "the hub sends another part of the file than was asked for");
      }
      offset = from;
    }
    return sink->begin(offset);
  }

  Status Take(std::string_view bytes) {
    if (sink == nullptr) {
      if (body.size() + bytes.size() > kMaxListBytes) {
        return Status(StatusCode::kResourceExhausted, "the hub's answer is longer than 64 MiB");
      }
      body += bytes;
      return OkStatus();
    }
    if (Code() != 200 && Code() != 206) return OkStatus();  // the text of an error
    if (!begun) RETURN_IF_ERROR(Begin());
    return sink->write(bytes);
  }

  static size_t OnBody(char* data, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->status = transfer->Take({data, size * count});
    return transfer->status.ok() ? size * count : 0;
  }
  static size_t OnHeader(char* data, size_t size, size_t count, void* self) {
    auto* transfer = static_cast<Transfer*>(self);
    transfer->header_bytes += size * count;
    if (transfer->header_bytes > kMaxHeaderBytes) return 0;
    transfer->AddHeader({data, size * count});
    return size * count;
  }
};

HubClient::Options HubClient::OptionsFromEnvironment() {
  Options options;
  options.endpoint = GetEnv("HF_ENDPOINT").value_or(kDefaultEndpoint);
  while (options.endpoint.ends_with('/')) options.endpoint.pop_back();
  options.token = GetEnv("HF_TOKEN").value_or("");
  return options;
}

HubClient::HubClient(Options options) : options_(std::move(options)) {
  static const CURLcode kInitialised = curl_global_init(CURL_GLOBAL_DEFAULT);
  CHECK_MSG(kInitialised == CURLE_OK, "libcurl does not start: {}", curl_easy_strerror(kInitialised));
  curl_ = curl_easy_init();
  CHECK_MSG(curl_ != nullptr, "libcurl gives no handle");
}

HubClient::~HubClient() { curl_easy_cleanup(curl_); }

std::string HubClient::FileUrl(const std::string& repo, const std::string& commit,
                               const std::string& file) const {
  return fmt::format("{}/{}/resolve/{}/{}", options_.endpoint, EncodePath(repo), EncodePath(commit),
                     EncodePath(file));
}

Status HubClient::Perform(Transfer* transfer, const std::string& url, const std::string& what) {
  CURL* curl = curl_;
  curl_easy_reset(curl);
  transfer->curl = curl;
  char message[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, message);
  curl_easy_setopt(curl, CURLOPT_USERAGENT, "firebrick");
  curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
  // Once encrypted, always encrypted.
  curl_easy_setopt(curl, CURLOPT_REDIR_PROTOCOLS_STR, url.starts_with("https://") ? "https" : "http,https");
  curl_easy_setopt(curl, CURLOPT_FOLLOWLOCATION, transfer->follow ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_MAXREDIRS, kMaxRedirects);
  curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME, kStallSeconds);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_NOBODY, transfer->head ? 1L : 0L);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, transfer);
  const std::string range = fmt::format("{}-", transfer->from);
  if (transfer->from > 0) curl_easy_setopt(curl, CURLOPT_RANGE, range.c_str());
  if (!options_.token.empty()) {
    curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
    curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, options_.token.c_str());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (!transfer->status.ok()) return transfer->status;
  if (code != CURLE_OK) {
    return MakeError(StatusCode::kUnavailable, "{}: {} ({}); check the network, or HF_ENDPOINT", what,
                     *message != '\0' ? message : curl_easy_strerror(code), options_.endpoint);
  }
  return CheckCode(*transfer, what);
}

Status HubClient::CheckCode(const Transfer& transfer, const std::string& what) const {
  const long code = transfer.Code();
  if (code >= 200 && code < 300) return OkStatus();
  if (!transfer.follow && code >= 300 && code < 400) return OkStatus();
  switch (code) {
    case 401:
    case 403:
      return MakeError(
          StatusCode::kFailedPrecondition,
          "{}: the hub refuses ({}): the model is private, gated or does not exist; accept its terms on "
          "the hub and set HF_TOKEN",
          what, code);
    case 404:
      return NotFound("{}: the hub has no such model, revision or file (404)", what);
    case 416:
      return MakeError(StatusCode::kDataLoss, "{}: what is here already is longer than the hub's file", what);
    default:
      break;
  }
  const StatusCode status = code == 429 || code >= 500 ? StatusCode::kUnavailable : StatusCode::kInternal;
  return MakeError(status, "{}: the hub answers with status {}; try again later", what, code);
}

Result<HubClient::Listing> HubClient::List(const std::string& repo, const std::string& revision) {
  Transfer transfer;
  const std::string url =
      fmt::format("{}/api/models/{}/revision/{}", options_.endpoint, EncodePath(repo), EncodePath(revision));
  RETURN_IF_ERROR(Perform(&transfer, url, repo));
  Result<Json> parsed = ParseJson(transfer.body);
  if (!parsed.ok()) return parsed.status().WithContext("the hub's list of files");
  const Json& json = *parsed;
  Listing listing;
  if (!json.is_object() || !json.contains("sha") || !json["sha"].is_string() || !json.contains("siblings") ||
      !json["siblings"].is_array() || json["siblings"].size() > kMaxFiles) {
    return DataLoss(
        "the hub's answer about {} has no commit or no list of files; is HF_ENDPOINT a model hub?", repo);
  }
  listing.commit = json["sha"].get<std::string>();
  if (!IsCommit(listing.commit)) return DataLoss("the hub names a commit that is none: '{}'", listing.commit);
  for (const Json& sibling : json["siblings"]) {
    if (!sibling.is_object() || !sibling.contains("rfilename") || !sibling["rfilename"].is_string()) continue;
    std::string file = sibling["rfilename"].get<std::string>();
    if (!IsSafeHubPath(file)) {
      return DataLoss(
          "the hub lists a file whose name leads out of the model's folder: '{}'; nothing was downloaded",
          file);
    }
    listing.files.push_back(std::move(file));
  }
  return listing;
}

Result<HubClient::FileInfo> HubClient::Describe(const std::string& repo, const std::string& commit,
                                                const std::string& file) {
  Transfer transfer;
  transfer.head = true;
  // The store behind a redirect often takes no HEAD; what the hub itself says about a large file is enough.
  transfer.follow = false;
  RETURN_IF_ERROR(Perform(&transfer, FileUrl(repo, commit, file), file));
  if (transfer.Code() >= 300 && transfer.Header("x-linked-etag") == nullptr) {
    transfer = {};
    transfer.head = true;
    RETURN_IF_ERROR(Perform(&transfer, FileUrl(repo, commit, file), file));
  }
  FileInfo info;
  for (const char* name : {"x-linked-etag", "etag"}) {
    const std::string* etag = transfer.Header(name);
    if (etag != nullptr && info.etag.empty()) info.etag = CleanEtag(*etag);
  }
  if (info.etag.empty()) return DataLoss("{}: the hub names no ETag, so the file cannot be checked", file);
  if (const std::string* size = transfer.Header("x-linked-size")) {
    info.size = ParseSize(*size);
  } else if (const auto length = transfer.headers.find("content-length");
             transfer.Code() < 300 && length != transfer.headers.end()) {
    info.size = ParseSize(length->second);
  }
  return info;
}

Status HubClient::Download(const std::string& repo, const std::string& commit, const std::string& file,
                           uint64_t from, const Sink& sink) {
  Transfer transfer;
  transfer.from = from;
  transfer.sink = &sink;
  RETURN_IF_ERROR(Perform(&transfer, FileUrl(repo, commit, file), file));
  return transfer.begun ? OkStatus() : transfer.Begin();  // an empty file
}

}  // namespace firebrick
