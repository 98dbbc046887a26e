// An error of the API in OpenAI's shape. Thread: any; a value.
#pragma once

#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"

namespace firebrick {

struct ApiError {
  int status = 400;  // HTTP
  std::string message;
  std::string type = "invalid_request_error";
  std::string param;            // the field at fault; empty: null in JSON
  std::string code;             // machine-readable; empty: null in JSON
  int retry_after_seconds = 0;  // > 0: a Retry-After header

  // {"error":{"message","type","param","code"}}; the message is cut to 800 bytes, so that no answer repeats a
  // request.
  std::string ToJson() const;
  HttpResponse ToResponse() const;
};

// The request is wrong in `param` (empty: as a whole).
ApiError BadField(std::string_view param, std::string message, std::string_view code = "invalid_value");
// Known by name, and not served.
ApiError UnsupportedField(std::string_view param, std::string_view why);
// The status of another room as HTTP: 400, 404, 429, 500, 501, 503 or 504.
ApiError FromStatus(const Status& status);
// What HTTP itself refuses (404, 405, 408, 413, …).
ApiError HttpError(int status, std::string_view message);

}  // namespace firebrick
