#include "engine/engine_loop.h"

#include "base/thread_name.h"
#include "engine/lifecycle.h"

namespace firebrick {

namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kCatchUpWait = std::chrono::milliseconds(2);  // while the output thread is far behind
constexpr auto kCollectWait = std::chrono::seconds(1);       // then mail is looked at again

}  // namespace

EngineLoop::EngineLoop(const SchedulerConfig& config, Executor* executor, Mailbox* mailbox,
                       OutputRouter* router, const Tokenizer* tokenizer)
    : scheduler_(config), executor_(executor), mailbox_(mailbox), router_(router), tokenizer_(tokenizer) {
  counters_ = scheduler_.Counters();
  last_step_ns_ = Clock::now().time_since_epoch().count();
}

void EngineLoop::Run() {
  NameThread("fb-engine");
  bool is_open = true;
  while (is_open || num_in_flight_ > 0 || scheduler_.HasWork()) {
    is_open = TakeMail();
    while (num_in_flight_ < executor_->depth() && PlanOne()) {
    }
    if (num_in_flight_ > 0) CollectOne();
    Publish();
  }
}

// Waits only where nothing is in flight and nothing could be planned: an idle engine uses no CPU.
bool EngineLoop::TakeMail() {
  SteadyTime deadline = SteadyTime::min();
  if (num_in_flight_ == 0) {
    deadline = scheduler_.HasWork() ? (router_->IsLagging() ? Clock::now() + kCatchUpWait : SteadyTime::min())
                                    : SteadyTime::max();
  }
  mailbox_->Take(deadline, &mail_);
  for (Submission& submission : mail_.submissions)
    Accept(std::move(submission), tokenizer_, &scheduler_, router_);
  for (const RequestId id : mail_.cancels) scheduler_.Cancel(id);
  if (mail_.is_closed) scheduler_.CancelAll();
  return !mail_.is_closed;
}

bool EngineLoop::PlanOne() {
  if (router_->IsLagging() || !scheduler_.Plan(Clock::now(), &plan_)) return false;
  executor_->Submit(std::move(plan_));
  ++num_in_flight_;
  return true;
}

void EngineLoop::CollectOne() {
  std::optional<StepResult> result = executor_->Collect(Clock::now() + kCollectWait);
  if (!result.has_value()) return;
  --num_in_flight_;
  scheduler_.Apply(&*result, Clock::now());
  plan_ = std::move(result->plan);  // its memory serves the next step
}

void EngineLoop::Publish() {
  router_->Push(&scheduler_.events());
  const std::lock_guard lock(counters_mutex_);
  counters_ = scheduler_.Counters();
  last_step_ns_ = Clock::now().time_since_epoch().count();
}

void EngineLoop::FillCounters(EngineCounters* counters) const {
  const std::lock_guard lock(counters_mutex_);
  counters->num_running = counters_.num_running;
  counters->num_waiting = counters_.num_waiting;
  counters->num_blocks = counters_.num_blocks;
  counters->num_blocks_used = counters_.num_blocks_used;
  counters->num_blocks_cached = counters_.num_blocks_cached;
  counters->prompt_tokens = counters_.prompt_tokens;
  counters->prefix_queries = counters_.prefix_queries;
  counters->prefix_hits = counters_.prefix_hits;
  counters->num_preemptions = counters_.num_preemptions;
  counters->num_steps = counters_.num_steps;
  counters->last_step_ns = last_step_ns_;
}

}  // namespace firebrick
