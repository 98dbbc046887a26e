#include "engine/engine.h"

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

#include "engine/engine_loop.h"
#include "engine/lifecycle.h"
#include "engine/mailbox.h"
#include "engine/output_router.h"

namespace firebrick {

// Members are destroyed from the last to the first: the output thread ends before what it uses.
class Engine::State {
 public:
  State(EngineConfig engine_config, std::unique_ptr<Executor> engine_executor,
        const Tokenizer* engine_tokenizer, EngineObservers observers)
      : config(std::move(engine_config)),
        tokenizer(engine_tokenizer),
        executor(std::move(engine_executor)),
        mailbox(static_cast<size_t>(config.mailbox_capacity)),
        router(&mailbox, std::move(observers), [this] { Retire(); }),
        loop(config.scheduler, executor.get(), &mailbox, &router, tokenizer),
        thread([this] { loop.Run(); }) {}
  ~State() {
    mailbox.Close();
    thread.join();
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  // Counts a request in, or says why not.
  Status Enter() {
    const std::lock_guard lock(gate);
    if (is_draining) {
      return Status(StatusCode::kUnavailable, "the server is shutting down; send the request to another one");
    }
    const int32_t most = config.scheduler.max_num_seqs + config.scheduler.max_num_queued;
    if (num_inside >= most) {
      return MakeError(StatusCode::kResourceExhausted,
                       "{} requests are running or waiting, which is the limit; try again later", num_inside);
    }
    ++num_inside;
    return OkStatus();
  }
  void Retire() {
    // Notified under the lock: after it, Drain may return and the engine may go.
    const std::lock_guard lock(gate);
    if (--num_inside == 0) is_empty.notify_all();
  }

  const EngineConfig config;
  const Tokenizer* tokenizer;
  std::atomic<uint64_t> next_id{0};
  std::mutex gate;
  std::condition_variable is_empty;
  int32_t num_inside = 0;  // accepted and not retired
  bool is_draining = false;
  std::unique_ptr<Executor> executor;
  Mailbox mailbox;
  OutputRouter router;
  EngineLoop loop;
  std::thread thread;
};

Engine::Engine(EngineConfig config, std::unique_ptr<Executor> executor, const Tokenizer* tokenizer,
               EngineObservers observers)
    : state_(
          std::make_unique<State>(std::move(config), std::move(executor), tokenizer, std::move(observers))) {}

Engine::~Engine() = default;

RequestId Engine::NewRequestId() { return RequestId(state_->next_id.fetch_add(1)); }

Status Engine::Submit(GenerateRequest request) {
  ASSIGN_OR_RETURN(Submission submission,
                   CheckRequest(std::move(request), state_->config.scheduler, state_->tokenizer));
  RETURN_IF_ERROR(state_->Enter());
  if (state_->mailbox.TryPush(std::move(submission))) return OkStatus();
  state_->Retire();
  return MakeError(StatusCode::kResourceExhausted,
                   "{} requests wait to be taken up, which is the limit; try later",
                   state_->config.mailbox_capacity);
}

void Engine::Cancel(RequestId id) { state_->mailbox.PushCancel(id); }

bool Engine::Drain(std::chrono::steady_clock::time_point deadline) {
  std::unique_lock lock(state_->gate);
  state_->is_draining = true;
  return state_->is_empty.wait_until(lock, deadline, [&] { return state_->num_inside == 0; });
}

EngineCounters Engine::Counters() const {
  EngineCounters counters;
  state_->loop.FillCounters(&counters);
  const OutputCounters output = state_->router.Counters();
  counters.generated_tokens = output.generated_tokens;
  counters.finished_stop = output.finished_stop;
  counters.finished_length = output.finished_length;
  counters.finished_cancelled = output.finished_cancelled;
  counters.finished_error = output.finished_error;
  return counters;
}

int32_t Engine::max_model_len() const { return state_->config.scheduler.max_model_len; }

}  // namespace firebrick
