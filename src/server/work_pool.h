// A few threads for text work (JSON, templates, tokenising), so that a long prompt stalls no connection.
#pragma once

#include <functional>
#include <thread>
#include <vector>

#include "base/queue.h"

namespace firebrick {

// Thread: TryRun from any. Owner: ApiServer. The destructor drops what waits and joins.
class WorkPool {
 public:
  WorkPool(int num_threads, size_t capacity);
  ~WorkPool();
  WorkPool(const WorkPool&) = delete;
  WorkPool& operator=(const WorkPool&) = delete;

  // False: `capacity` jobs wait already; `job` is then untouched.
  bool TryRun(std::function<void()>& job);

 private:
  BoundedQueue<std::function<void()>> queue_;
  std::vector<std::thread> threads_;
};

}  // namespace firebrick
