#include "server/api_error.h"

#include <fmt/format.h>

#include "base/json.h"
#include "base/utf8.h"

namespace firebrick {
namespace {

constexpr size_t kMaxMessageBytes = 800;

// At most kMaxMessageBytes of valid UTF-8: what other rooms say may quote a request.
std::string Presentable(std::string_view message) {
  std::string text(message.substr(0, kMaxMessageBytes));
  const size_t invalid = FindInvalidUtf8(text);
  if (invalid != kUtf8Valid) text.resize(invalid);
  if (text.size() < message.size()) text += "…";
  return text;
}

void AppendNullable(std::string_view text, std::string* out) {
  if (text.empty()) {
    out->append("null");
  } else {
    AppendJsonString(text, out);
  }
}

}  // namespace

std::string ApiError::ToJson() const {
  std::string json = R"({"error":{"message":)";
  AppendJsonString(Presentable(message), &json);
  json += R"(,"type":)";
  AppendJsonString(type, &json);
  json += R"(,"param":)";
  AppendNullable(param, &json);
  json += R"(,"code":)";
  AppendNullable(code, &json);
  json += "}}";
  return json;
}

HttpResponse ApiError::ToResponse() const {
  HttpResponse response;
  response.status = status;
  response.body = ToJson();
  if (retry_after_seconds > 0)
    response.headers.push_back({"Retry-After", std::to_string(retry_after_seconds)});
  return response;
}

ApiError BadField(std::string_view param, std::string message, std::string_view code) {
  ApiError error;
  error.message = std::move(message);
  error.param = Presentable(param.substr(0, 100));
  error.code = code;
  return error;
}

ApiError UnsupportedField(std::string_view param, std::string_view why) {
  return BadField(param, fmt::format("'{}' is not supported: {}", Presentable(param.substr(0, 100)), why),
                  "unsupported_parameter");
}

ApiError FromStatus(const Status& status) {
  ApiError error;
  error.message = status.message();
  switch (status.code()) {
    case StatusCode::kInvalidArgument:
      error.status = 400;
      return error;
    case StatusCode::kNotFound:
      error.status = 404;
      error.type = "not_found_error";
      return error;
    case StatusCode::kResourceExhausted:
      error.status = 429;
      error.type = "rate_limit_error";
      error.code = "server_overloaded";
      error.retry_after_seconds = 1;
      return error;
    case StatusCode::kUnavailable:
    case StatusCode::kCancelled:
      error.status = 503;
      error.type = "unavailable_error";
      error.retry_after_seconds = 1;
      return error;
    case StatusCode::kDeadlineExceeded:
      error.status = 504;
      error.type = "timeout_error";
      return error;
    case StatusCode::kUnimplemented:
      error.status = 501;
      error.code = "unsupported";
      return error;
    default:
      error.status = 500;
      error.type = "server_error";
      return error;
  }
}

ApiError HttpError(int status, std::string_view message) {
  ApiError error;
  error.status = status;
  error.message = message;
  if (status == 404) error.type = "not_found_error";
  if (status >= 500) error.type = status == 503 ? "unavailable_error" : "server_error";
  if (status == 503 || status == 429) error.retry_after_seconds = 1;
  return error;
}

}  // namespace firebrick
