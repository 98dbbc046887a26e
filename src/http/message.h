// An HTTP request and response as plain values, and the small parsers beside Beast's.
// Thread: any; the types are values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace firebrick {

struct HttpHeader {
  std::string name;
  std::string value;
};
using HttpHeaders = std::vector<HttpHeader>;

struct HttpRequest {
  std::string method;   // as sent: methods are case-sensitive
  std::string target;   // as sent
  std::string path;     // percent-decoded; never empty, starts with '/'
  std::string query;    // as sent, without '?'
  HttpHeaders headers;  // in order; trailers of a chunked body are not among them
  std::string body;
  std::string id;      // X-Request-Id where the client sent a harmless one, else made here
  std::string remote;  // address:port of the peer
  int http_minor = 1;  // 0 or 1

  // The first value of a header by case-insensitive name; empty where absent.
  std::string_view Header(std::string_view name) const;
};

struct HttpResponse {
  int status = 200;
  std::string content_type = "application/json";
  std::string body;
  HttpHeaders headers;
};

bool EqualsIgnoreCase(std::string_view a, std::string_view b);
std::string_view HttpReason(int status);

// Decodes %XX (and '+' as a space where `plus_is_space`); nullopt for a bad escape or a NUL.
std::optional<std::string> PercentDecode(std::string_view text, bool plus_is_space);

// Splits "a=1&b=2" into decoded pairs; nullopt for a bad escape or more than 64 pairs.
std::optional<std::vector<std::pair<std::string, std::string>>> ParseQuery(std::string_view query);

// Splits a request target in origin or absolute form into a decoded path and a raw query. False where it is
// neither.
bool SplitTarget(std::string_view target, std::string* path, std::string* query);

// True for 1 to 128 characters of [A-Za-z0-9._:-]: safe to echo into a header and a log.
bool IsSafeRequestId(std::string_view id);
// 16 random bytes as hex.
std::string MakeRequestId();

// Appends one server-sent event. `data` must not contain a line break (JSON text never does).
void AppendSseEvent(std::string_view data, std::string* out);

}  // namespace firebrick
