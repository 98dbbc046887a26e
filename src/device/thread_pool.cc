#include "device/thread_pool.h"

#include <immintrin.h>
#include <pthread.h>
#include <sched.h>

#include "base/status.h"
#include "base/thread_name.h"

namespace firebrick {
namespace {

// Waits until `value` differs from `old`: spins for `spin`, then sleeps. Returns the new value.
uint32_t WaitForChange(const std::atomic<uint32_t>& value, uint32_t old, std::chrono::microseconds spin) {
  constexpr int kPausesPerLook = 16;
  const auto deadline = std::chrono::steady_clock::now() + spin;
  do {
    for (int i = 0; i < kPausesPerLook; ++i) {
      const uint32_t now = value.load(std::memory_order_acquire);
      if (now != old) return now;
      _mm_pause();
    }
  } while (std::chrono::steady_clock::now() < deadline);
  value.wait(old, std::memory_order_acquire);
  return value.load(std::memory_order_acquire);
}

void PinTo(int32_t cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<size_t>(cpu), &set);
  pthread_setaffinity_np(pthread_self(), sizeof(set), &set);  // a wish: without it the thread wanders
}

}  // namespace

ThreadPoolOptions MakeThreadPoolOptions(const Topology& topology, int32_t num_threads) {
  ThreadPoolOptions options;
  options.num_threads = num_threads > 0 ? num_threads : topology.default_threads;
  if (options.num_threads <= topology.default_threads) options.pinning = topology.pinning;
  return options;
}

ThreadPool::ThreadPool(const ThreadPoolOptions& options)
    : num_threads_(options.num_threads), spin_(options.spin) {
  CHECK(num_threads_ >= 1 && static_cast<uint32_t>(num_threads_) <= kInsideMask);
  for (int32_t thread = 1; thread < num_threads_; ++thread) {
    const auto index = static_cast<size_t>(thread);
    const int32_t cpu = index < options.pinning.size() ? options.pinning[index] : -1;
    workers_.emplace_back([this, thread, cpu] { WorkerLoop(thread, cpu); });
  }
}

ThreadPool::~ThreadPool() {
  stopping_ = true;
  Open();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::Run(const Job& job) {
  if (job.num_items <= 0) return;
  const FlushDenormals flush;
  if (num_threads_ == 1 || job.num_items <= job.chunk) {
    job.call(job.context, 0, job.num_items, 0);
    return;
  }
  job_ = job;
  next_item_.store(0, std::memory_order_relaxed);
  Open();
  RunParts(0);
  CloseAndWait();
}

void ThreadPool::Open() {
  const uint32_t number = word_.load(std::memory_order_relaxed) & ~(kOpen | kInsideMask);
  word_.store((number + kNumberStep) | kOpen, std::memory_order_release);
  word_.notify_all();
}

void ThreadPool::CloseAndWait() {
  uint32_t word = word_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
  while ((word & kInsideMask) != 0) word = WaitForChange(word_, word, spin_);
}

void ThreadPool::RunParts(int32_t thread) {
  for (;;) {
    const int64_t begin = next_item_.fetch_add(job_.chunk, std::memory_order_relaxed);
    if (begin >= job_.num_items) return;
    const int64_t end = begin + job_.chunk < job_.num_items ? begin + job_.chunk : job_.num_items;
    job_.call(job_.context, begin, end, thread);
  }
}

void ThreadPool::WorkerLoop(int32_t thread, int32_t pinned_cpu) {
  NameThread("fb-worker");
  if (pinned_cpu >= 0) PinTo(pinned_cpu);
  const FlushDenormals flush;
  uint32_t last_job = 0;
  uint32_t word = word_.load(std::memory_order_acquire);
  for (;;) {
    const uint32_t number = word & ~(kOpen | kInsideMask);
    if ((word & kOpen) == 0 || number == last_job) {
      word = WaitForChange(word_, word, spin_);
      continue;
    }
    if (!word_.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel, std::memory_order_acquire))
      continue;
    last_job = number;
    if (stopping_) return;
    RunParts(thread);
    word = word_.fetch_sub(1, std::memory_order_acq_rel) - 1;
    if ((word & (kOpen | kInsideMask)) == 0) word_.notify_all();
  }
}

}  // namespace firebrick
