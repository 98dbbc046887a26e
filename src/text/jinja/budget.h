// What one rendering may still use, and how it fails. Thread: one rendering, one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>

#include <fmt/format.h>

#include "base/status.h"
#include "text/chat_template.h"

namespace firebrick::jinja {

// Thrown inside the interpreter only; ChatTemplate turns it into a Status.
struct Failure {
  StatusCode code;
  std::string message;
};

template <typename... Args>
[[noreturn]] void Fail(fmt::format_string<Args...> format, Args&&... args) {
  throw Failure{StatusCode::kInvalidArgument, fmt::format(format, std::forward<Args>(args)...)};
}

class Budget {
 public:
  explicit Budget(const TemplateLimits& limits)
      : limits_(limits), deadline_(std::chrono::steady_clock::now() + limits.max_time) {}
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  void Step(uint64_t count = 1) {
    steps_ += count;
    if (steps_ >= next_check_) Check();
  }
  // Work on so many bytes.
  void Touch(size_t bytes) { Step(1 + bytes / 64); }

  void Allocate(size_t bytes) {
    if (bytes > limits_.max_memory_bytes - alive_bytes_) FailMemory();
    alive_bytes_ += bytes;
  }
  void Release(size_t bytes) { alive_bytes_ -= bytes; }
  // Before something large is built: fails where `bytes` more could not be kept.
  void Expect(size_t bytes) const {
    if (bytes > limits_.max_memory_bytes - alive_bytes_) FailMemory();
  }

  const TemplateLimits& limits() const { return limits_; }

  // One level of nested evaluation, for as long as it lives.
  class Level {
   public:
    explicit Level(Budget& budget) : budget_(budget) {
      if (++budget_.depth_ > budget_.limits_.max_depth) {
        --budget_.depth_;
        budget_.FailDepth();
      }
    }
    ~Level() { --budget_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& budget_;
  };

  // Containers nest at most so deep: their destructors, comparison and printing are recursive.
  static constexpr int kMaxValueDepth = 200;

 private:
  void Check();
  [[noreturn]] void FailMemory() const;
  [[noreturn]] void FailDepth() const;

  TemplateLimits limits_;
  std::chrono::steady_clock::time_point deadline_;
  uint64_t steps_ = 0;
  uint64_t next_check_ = 0;
  size_t alive_bytes_ = 0;
  int depth_ = 0;
};

}  // namespace firebrick::jinja
