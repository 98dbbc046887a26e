#include "engine/output_router.h"

#include <utility>

#include "base/thread_name.h"

namespace firebrick {

namespace {

constexpr size_t kMostUndelivered = 16384;  // events; at 64 sequences a backlog of 256 steps

}  // namespace

OutputRouter::OutputRouter(Mailbox* mailbox, EngineObservers observers, std::function<void()> retired)
    : mailbox_(mailbox),
      observers_(std::move(observers)),
      retired_(std::move(retired)),
      thread_([this] { Run(); }) {}

OutputRouter::~OutputRouter() {
  {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  ready_.notify_one();
  thread_.join();
}

void OutputRouter::Open(OutputStream stream) {
  const std::lock_guard lock(mutex_);
  opened_.push_back(std::move(stream));
}

void OutputRouter::Push(std::vector<SequenceEvent>* events) {
  if (events->empty()) return;
  {
    const std::lock_guard lock(mutex_);
    num_undelivered_ += events->size();
    if (events_.empty()) {
      events_.swap(*events);
    } else {
      std::move(events->begin(), events->end(), std::back_inserter(events_));
      events->clear();
    }
  }
  ready_.notify_one();
}

bool OutputRouter::IsLagging() const {
  const std::lock_guard lock(mutex_);
  return num_undelivered_ > kMostUndelivered;
}

OutputCounters OutputRouter::Counters() const {
  const std::lock_guard lock(mutex_);
  return counters_;
}

void OutputRouter::Run() {
  NameThread("fb-output");
  std::vector<OutputStream> opened;
  std::vector<SequenceEvent> events;
  std::unique_lock lock(mutex_);
  while (true) {
    ready_.wait(lock, [&] { return is_closed_ || !events_.empty(); });
    if (events_.empty()) return;
    opened.swap(opened_);
    events.swap(events_);
    lock.unlock();
    for (OutputStream& stream : opened) {
      const RequestId id = stream.id();
      streams_.emplace(id, std::move(stream));
    }
    opened.clear();
    for (SequenceEvent& event : events) Deliver(std::move(event));
    lock.lock();
    num_undelivered_ -= events.size();
    counters_ = counts_;
    events.clear();
  }
}

void OutputRouter::Deliver(SequenceEvent event) {
  const bool is_last_event = event.finish.has_value();
  const RequestId id = event.id;
  const auto found = streams_.find(id);
  if (found != streams_.end()) {  // else a stop string ended it before
    OutputStream& stream = found->second;
    TokenDelta delta = stream.Advance(std::move(event));
    Observe(stream, delta);
    const bool is_last_delta = delta.finish.has_value();
    if (is_last_delta) {  // who has the end of an answer finds it counted
      const std::lock_guard lock(mutex_);
      counters_ = counts_;
    }
    stream.sink().OnDelta(std::move(delta));
    if (is_last_delta) {
      streams_.erase(found);
      if (!is_last_event) mailbox_->PushCancel(id);
    }
  }
  if (is_last_event) retired_();
}

void OutputRouter::Observe(const OutputStream& stream, const TokenDelta& delta) {
  counts_.generated_tokens += delta.tokens.size();
  if (stream.seconds_to_first_token() && observers_.time_to_first_token) {
    observers_.time_to_first_token(*stream.seconds_to_first_token());
  }
  if (stream.seconds_between_tokens() && observers_.inter_token) {
    observers_.inter_token(*stream.seconds_between_tokens());
  }
  if (!delta.finish.has_value()) return;
  switch (*delta.finish) {
    case FinishReason::kStop:
      ++counts_.finished_stop;
      break;
    case FinishReason::kLength:
      ++counts_.finished_length;
      break;
    case FinishReason::kCancelled:
      ++counts_.finished_cancelled;
      break;
    case FinishReason::kError:
      ++counts_.finished_error;
      break;
  }
  if (observers_.finished) observers_.finished(delta);
}

}  // namespace firebrick
