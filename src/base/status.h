// Status and Result<T>: how a failure crosses a room. No exception leaves a room.
// Thread: any; the types are values.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace firebrick {

// Why something failed. The server maps codes to HTTP statuses, the command line maps them to exit codes.
enum class StatusCode : uint8_t {
  kOk,
  kInvalidArgument,     // the caller's input is wrong; repeating it fails again
  kNotFound,            // a named thing does not exist
  kFailedPrecondition,  // right input, wrong moment or state
  kResourceExhausted,   // a bounded thing is full; later may work
  kCancelled,           // the caller gave up
  kDeadlineExceeded,    // a time limit ran out
  kUnavailable,         // a peer, a file system or a network did not answer
  kDataLoss,            // bytes are damaged: truncated, overlapping, checksum mismatch
  kUnimplemented,       // known, named, and not supported
  kInternal,            // a fault of ours
};

std::string_view StatusCodeName(StatusCode code);

// A code and a message that names the cause and the remedy. OK carries no message.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(StatusCode code, std::string message) : code_(code), message_(std::move(message)) {}

  bool ok() const { return code_ == StatusCode::kOk; }
  StatusCode code() const { return code_; }
  const std::string& message() const { return message_; }
  // "invalid_argument: message", or "ok".
  std::string ToString() const;
  // The same code with "context: " put before the message.
  Status WithContext(std::string_view context) const;

 private:
  StatusCode code_ = StatusCode::kOk;
  std::string message_;
};

inline Status OkStatus() { return {}; }

// Makes an error from a fmt format string: MakeError(StatusCode::kNotFound, "no file {}", path).
template <typename... Args>
Status MakeError(StatusCode code, fmt::format_string<Args...> format, Args&&... args) {
  return Status(code, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status InvalidArgument(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status DataLoss(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kDataLoss, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status NotFound(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kNotFound, fmt::format(format, std::forward<Args>(args)...));
}
template <typename... Args>
Status Unimplemented(fmt::format_string<Args...> format, Args&&... args) {
  return Status(StatusCode::kUnimplemented, fmt::format(format, std::forward<Args>(args)...));
}

// Prints the message with file and line to standard error and aborts. Used by the CHECK macros.
[[noreturn]] void CheckFailed(const char* file, int line, const char* condition, const std::string& message);

// Either a value or an error. Reading the value of an error is a programmer error and aborts.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.ok()) CheckFailed(__FILE__, __LINE__, "!status.ok()", "a Result needs a value or an error");
  }

  bool ok() const { return value_.has_value(); }
  const Status& status() const { return status_; }
  T& value() & {
    Require();
    return *value_;
  }
  const T& value() const& {
    Require();
    return *value_;
  }
  T&& value() && {
    Require();
    return std::move(*value_);
  }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  void Require() const {
    if (!value_.has_value()) CheckFailed(__FILE__, __LINE__, "result.ok()", status_.ToString());
  }
  Status status_;
  std::optional<T> value_;
};

}  // namespace firebrick

#define FIREBRICK_CONCAT_INNER(a, b) a##b
#define FIREBRICK_CONCAT(a, b) FIREBRICK_CONCAT_INNER(a, b)

// Programmer errors: abort with the condition. Never for bad input.
#define CHECK(condition)                                                            \
  do {                                                                              \
    if (!(condition)) ::firebrick::CheckFailed(__FILE__, __LINE__, #condition, {}); \
  } while (false)
#define CHECK_MSG(condition, ...)                                                                         \
  do {                                                                                                    \
    if (!(condition)) ::firebrick::CheckFailed(__FILE__, __LINE__, #condition, fmt::format(__VA_ARGS__)); \
  } while (false)
#ifdef NDEBUG
#define DCHECK(condition) \
  do {                    \
  } while (false && (condition))
#else
#define DCHECK(condition) CHECK(condition)
#endif

#define RETURN_IF_ERROR(expression)                      \
  do {                                                   \
    ::firebrick::Status firebrick_status = (expression); \
    if (!firebrick_status.ok()) return firebrick_status; \
  } while (false)

// ASSIGN_OR_RETURN(auto x, Function()): declares x from the value, or returns the error.
#define ASSIGN_OR_RETURN(declaration, expression) \
  ASSIGN_OR_RETURN_INNER(FIREBRICK_CONCAT(firebrick_result_, __LINE__), declaration, expression)
#define ASSIGN_OR_RETURN_INNER(result, declaration, expression) \
  auto result = (expression);                                   \
  if (!result.ok()) return result.status();                     \
  declaration = std::move(result).value()
