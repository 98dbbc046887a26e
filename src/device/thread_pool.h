// ThreadPool: fork and join over a fixed set of threads; the caller is one of them. A call returns when all
// of its items are done. Who computes an item never changes its result: items are independent, and the
// numeric definitions know nothing of threads.
//
// Workers spin for some tens of microseconds after a call, then sleep, so that a busy server pays no wake-up
// and an idle one no CPU. FTZ and DAZ are set wherever an item runs (device/fp_mode.h).
// Thread: calls come from one thread at a time, never from inside an item. docs/contracts/threads.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

#include "device/fp_mode.h"
#include "device/topology.h"

namespace firebrick {

struct IndexRange {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t size() const { return end - begin; }
};

// Part number `part` of [0, num_items) cut in `num_parts` consecutive ranges whose sizes differ by one at
// most.
inline IndexRange SplitRange(int64_t num_items, int64_t num_parts, int64_t part) {
  const int64_t small = num_items / num_parts;
  const int64_t larger = num_items % num_parts;
  const int64_t begin = part * small + (part < larger ? part : larger);
  return {begin, begin + small + (part < larger ? 1 : 0)};
}

struct ThreadPoolOptions {
  int32_t num_threads = 1;             // with the caller; >= 1
  std::vector<int32_t> pinning;        // CPUs of threads 1, 2, ... at index 1, 2, ...; empty: not pinned
  std::chrono::microseconds spin{30};  // before a waiting thread sleeps
};
// What suits a machine; num_threads 0 takes the topology's default, another number is taken as it is (and
// pins only where it is no larger than the default).
ThreadPoolOptions MakeThreadPoolOptions(const Topology& topology, int32_t num_threads);

class ThreadPool {
 public:
  explicit ThreadPool(const ThreadPoolOptions& options);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int32_t num_threads() const { return num_threads_; }

  // fn(begin, end, thread) once per thread that gets a part of [0, num_items); 0 <= thread < num_threads().
  // One item, or one thread, runs inline.
  template <typename Fn>
  void ParallelFor(int64_t num_items, Fn&& fn) {
    ParallelForChunks(num_items, (num_items + num_threads_ - 1) / num_threads_, std::forward<Fn>(fn));
  }

  // The same with parts of `chunk` items (the last may be smaller), handed out as threads come free: for
  // items of unequal cost. A thread may get several parts.
  template <typename Fn>
  void ParallelForChunks(int64_t num_items, int64_t chunk, Fn&& fn) {
    using Function = std::remove_reference_t<Fn>;
    const auto call = [](const void* context, int64_t begin, int64_t end, int32_t thread) {
      (*static_cast<Function*>(const_cast<void*>(context)))(begin, end, thread);
    };
    Run({call, &fn, num_items, chunk > 0 ? chunk : 1});
  }

 private:
  struct Job {
    void (*call)(const void*, int64_t, int64_t, int32_t) = nullptr;
    const void* context = nullptr;
    int64_t num_items = 0;
    int64_t chunk = 1;
  };
  void Run(const Job& job);
  void Open();
  void CloseAndWait();
  void RunParts(int32_t thread);
  void WorkerLoop(int32_t thread, int32_t pinned_cpu);

  // One word says all about the present job: its number, whether it is open to workers, and how many workers
  // are in it. A worker enters by a compare-and-swap while the job is open; the caller closes it when no item
  // is left and waits for those inside only. So a worker that the system has not yet let run holds up nobody.
  static constexpr uint32_t kInsideMask = 0x3FF;
  static constexpr uint32_t kOpen = 0x400;
  static constexpr uint32_t kNumberStep = 0x800;  // the number is all bits from here on; it may wrap

  const int32_t num_threads_;
  const std::chrono::microseconds spin_;
  Job job_;                // changes only while the word says closed and nobody inside
  bool stopping_ = false;  // as job_
  alignas(64) std::atomic<int64_t> next_item_{0};
  alignas(64) std::atomic<uint32_t> word_{0};
  std::vector<std::thread> workers_;
};

}  // namespace firebrick
