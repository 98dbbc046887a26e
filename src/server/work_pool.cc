#include "server/work_pool.h"

#include <optional>

#include "base/thread_name.h"

namespace firebrick {

WorkPool::WorkPool(int num_threads, size_t capacity) : queue_(capacity) {
  for (int i = 0; i < num_threads; ++i) {
    threads_.emplace_back([this] {
      NameThread("fb-request");
      while (std::optional<std::function<void()>> job = queue_.Pop()) (*job)();
    });
  }
}

WorkPool::~WorkPool() {
  queue_.Close();
  while (queue_.TryPop()) {
  }
  for (std::thread& thread : threads_) thread.join();
}

bool WorkPool::TryRun(std::function<void()>& job) { return queue_.TryPush(job); }

}  // namespace firebrick
