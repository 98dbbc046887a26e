// OutputRouter: from sequence events to deltas in sinks, on a thread of its own. The engine thread only swaps
// a vector. A stop string found here ends the request at once and goes back as a Cancel; events behind it are
// dropped, so tokens after a stop are never counted.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "api/delta.h"
#include "engine/engine.h"
#include "engine/mailbox.h"
#include "engine/output_stream.h"
#include "sched/sequence_event.h"

namespace firebrick {

// What only the router can count, because its verdict wins.
struct OutputCounters {
  uint64_t generated_tokens = 0;
  uint64_t finished_stop = 0, finished_length = 0, finished_cancelled = 0, finished_error = 0;
};

class OutputRouter {
 public:
  // `mailbox` outlives the router. `retired` is called on the output thread once per sequence, when its
  // sink has its last delta and the scheduler has ended it.
  OutputRouter(Mailbox* mailbox, EngineObservers observers, std::function<void()> retired);
  ~OutputRouter();  // delivers what was pushed, then joins
  OutputRouter(const OutputRouter&) = delete;
  OutputRouter& operator=(const OutputRouter&) = delete;

  // Engine thread. A stream is opened before the first event of its sequence is pushed. Events are moved out
  // and the vector comes back empty. Never blocks on a sink.
  void Open(OutputStream stream);
  void Push(std::vector<SequenceEvent>* events);
  // The output thread is far behind: the engine plans nothing new until it has caught up.
  bool IsLagging() const;

  OutputCounters Counters() const;  // any thread

 private:
  void Run();
  void Deliver(SequenceEvent event);
  void Observe(const OutputStream& stream, const TokenDelta& delta);

  Mailbox* mailbox_;
  const EngineObservers observers_;
  const std::function<void()> retired_;

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::vector<OutputStream> opened_;
  std::vector<SequenceEvent> events_;
  size_t num_undelivered_ = 0;
  OutputCounters counters_;
  bool is_closed_ = false;

  std::unordered_map<RequestId, OutputStream> streams_;  // output thread only
  OutputCounters counts_;                                // output thread only; copied to counters_
  std::thread thread_;
};

}  // namespace firebrick
