// BoundedQueue: many producers, many consumers, a fixed capacity. Producers never block: a full queue is an
// answer. Thread: any. After Close, pushes fail and pops drain what is left.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace firebrick {

template <typename T>
class BoundedQueue {
 public:
  explicit BoundedQueue(size_t capacity) : capacity_(capacity) {}

  // Moves from `value` only where it returns true: false means full or closed, and the value is untouched.
  bool TryPush(T& value) {
    {
      const std::lock_guard lock(mutex_);
      if (closed_ || items_.size() >= capacity_) return false;
      items_.push_back(std::move(value));
    }
    ready_.notify_one();
    return true;
  }
  bool TryPush(T&& value) { return TryPush(value); }

  std::optional<T> TryPop() {
    const std::lock_guard lock(mutex_);
    return PopLocked();
  }

  // Waits for an item, for Close, or until the time is up.
  std::optional<T> PopUntil(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    ready_.wait_until(lock, deadline, [&] { return closed_ || !items_.empty(); });
    return PopLocked();
  }

  // Waits for an item or for Close; nullopt means closed and drained.
  std::optional<T> Pop() {
    std::unique_lock lock(mutex_);
    ready_.wait(lock, [&] { return closed_ || !items_.empty(); });
    return PopLocked();
  }

  void Close() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    ready_.notify_all();
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return items_.size();
  }
  size_t capacity() const { return capacity_; }

 private:
  std::optional<T> PopLocked() {
    if (items_.empty()) return std::nullopt;
    std::optional<T> item(std::move(items_.front()));
    items_.pop_front();
    return item;
  }

  const size_t capacity_;
  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace firebrick
