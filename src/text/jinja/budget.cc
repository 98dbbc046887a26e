#include "text/jinja/budget.h"

#include <algorithm>

namespace firebrick::jinja {
namespace {
constexpr uint64_t kStepsBetweenClockReads = 4096;
}  // namespace

void Budget::Check() {
  if (steps_ > limits_.max_steps) {
    throw Failure{
        StatusCode::kResourceExhausted,
        fmt::format("the template takes more than {} steps; it may loop without end", limits_.max_steps)};
  }
  if (std::chrono::steady_clock::now() > deadline_) {
    throw Failure{StatusCode::kDeadlineExceeded,
                  fmt::format("the template takes longer than {} ms", limits_.max_time.count())};
  }
  next_check_ = std::min(steps_ + kStepsBetweenClockReads, limits_.max_steps + 1);
}

void Budget::FailMemory() const {
  throw Failure{StatusCode::kResourceExhausted,
                fmt::format("the template needs more than {} bytes of memory", limits_.max_memory_bytes)};
}

void Budget::FailDepth() const {
  throw Failure{StatusCode::kResourceExhausted,
                fmt::format("the template nests deeper than {} levels; a macro may call itself without end",
                            limits_.max_depth)};
}

}  // namespace firebrick::jinja
