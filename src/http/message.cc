#include "http/message.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>

namespace firebrick {
namespace {

char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c; }

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = LowerAscii(c);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

constexpr size_t kMaxQueryPairs = 64;
constexpr size_t kMaxRequestId = 128;

}  // namespace

std::string_view HttpRequest::Header(std::string_view name) const {
  for (const HttpHeader& header : headers) {
    if (EqualsIgnoreCase(header.name, name)) return header.value;
  }
  return {};
}

bool EqualsIgnoreCase(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return LowerAscii(x) == LowerAscii(y); });
}

std::string_view HttpReason(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 411:
      return "Length Required";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Content";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 499:
      return "Client Closed Request";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 504:
      return "Gateway Timeout";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Status";
  }
}

std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '+' && plus_is_space) {
      c = ' ';
    } else if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    }
    if (c == '\0') return std::nullopt;
    out.push_back(c);
  }
  return out;
}

std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!query.empty()) {
    const size_t end = std::min(query.find('&'), query.size());
    const std::string_view pair = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    if (pair.empty()) continue;
    if (pairs.size() == kMaxQueryPairs) return std::nullopt;
    const size_t equals = std::min(pair.find('='), pair.size());
    auto name = PercentDecode(pair.substr(0, equals), true);
    auto value = PercentDecode(pair.substr(std::min(equals + 1, pair.size())), true);
    if (!name || !value) return std::nullopt;
    pairs.emplace_back(std::move(*name), std::move(*value));
  }
  return pairs;
}

bool SplitTarget(std::string_view target, std::string* path, std::string* query) {
  constexpr std::string_view kScheme = "http://";
  if (target.size() > kScheme.size() && EqualsIgnoreCase(target.substr(0, kScheme.size()), kScheme)) {
    const size_t slash = target.find('/', kScheme.size());
    target = slash == std::string_view::npos ? std::string_view("/") : target.substr(slash);
  }
  if (target.empty() || target.front() != '/') return false;
  target = target.substr(0, target.find('#'));
  const size_t mark = std::min(target.find('?'), target.size());
  auto decoded = PercentDecode(target.substr(0, mark), false);
  if (!decoded) return false;
  *path = std::move(*decoded);
  *query = target.substr(std::min(mark + 1, target.size()));
  return true;
}

bool IsSafeRequestId(std::string_view id) {
  if (id.empty() || id.size() > kMaxRequestId) return false;
  return std::all_of(id.begin(), id.end(), [](char c) {
    const char lower = LowerAscii(c);
    return (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == ':' ||
           c == '-';
  });
}

std::string MakeRequestId() {
  thread_local std::mt19937_64 random{(static_cast<uint64_t>(std::random_device{}()) << 32U) ^
                                      std::random_device{}()};
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string id;
  id.reserve(32);
  for (int word = 0; word < 2; ++word) {
    uint64_t bits = random();
    for (int i = 0; i < 16; ++i, bits >>= 4U) id.push_back(kDigits[bits & 15U]);
  }
  return id;
}

void AppendSseEvent(std::string_view data, std::string* out) {
  out->append("data: ").append(data).append("\n\n");
}

}  // namespace firebrick
