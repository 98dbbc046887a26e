#include "engine_sim.h"

#include <algorithm>
#include <functional>

namespace firebrick {

namespace {

constexpr int32_t kVocab = 101;

const std::vector<std::vector<int32_t>>& WindowChoices() {
  static const std::vector<std::vector<int32_t>> kChoices = {{0},         {0, 40},    {0, 1}, {33, 100},
                                                             {0, 32, 97}, {0, 0, 64}, {64}};
  return kChoices;
}

}  // namespace

void EngineSim::Tally::Add(const Tally& other) {
  finished += other.finished;
  cancelled += other.cancelled;
  expired += other.expired;
  failed += other.failed;
  preemptions += other.preemptions;
  hits += other.hits;
  drops += other.drops;
  refused += other.refused;
  sliding_hits += other.sliding_hits;
  steps += other.steps;
}

EngineSim::EngineSim(uint64_t seed) : random_(seed) {
  const auto& windows = WindowChoices()[static_cast<size_t>(Uniform(0, 6))];
  for (const int32_t window : windows) config_.groups.push_back({{0}, window});
  config_.max_model_len = Uniform(64, 400);
  config_.num_blocks = Uniform(4, 40) * static_cast<int32_t>(windows.size());
  config_.max_num_seqs = Uniform(1, 9);
  config_.max_num_batched_tokens = Uniform(1, 300);
  config_.target_step_ms = Chance(0.5) ? 0.0 : Uniform(1, 50);
  config_.enable_prefix_caching = Chance(0.9);
  config_.key_root = {1, 2, 3};
  device_config_.num_blocks = config_.num_blocks;
  device_config_.groups = config_.groups;
  device_config_.max_num_seqs = config_.max_num_seqs;
  device_config_.vocab_size = kVocab;
  device_config_.depth = Uniform(1, 3);
  device_config_.ns_per_step = 100'000;
  device_config_.ns_per_token = 50'000;
  FakeExecutorHooks hooks;
  hooks.domain = [this](RequestId id) { return domains_.at(id); };
  hooks.fails = [this](RequestId id, int32_t) { return doomed_.contains(id); };
  executor_ = std::make_unique<FakeExecutor>(device_config_, hooks);
  scheduler_ = std::make_unique<Scheduler>(config_);
  for (int i = 0; i < 4; ++i) {
    auto& document = documents_.emplace_back();
    for (int32_t p = 0; p < config_.max_model_len; ++p) document.push_back(Uniform(0, kVocab - 1));
  }
}

void EngineSim::Run(int64_t count) {
  for (int64_t i = 0; i < count && fault_.empty(); ++i) {
    Operate();
    Check();
  }
  Drain();
  const SchedulerCounters counters = scheduler_->Counters();
  tally_.preemptions += counters.num_preemptions;
  tally_.steps += counters.num_steps;
}

void EngineSim::Operate() {
  const int32_t dice = Uniform(0, 999);
  if (dice < 120 && clients_.size() < 24) return AddRequest();
  if (dice < 150 && !clients_.empty()) {
    auto victim = std::next(clients_.begin(), Uniform(0, static_cast<int32_t>(clients_.size()) - 1));
    victim->second.was_cancelled = true;
    scheduler_->Cancel(victim->first);
    return TakeEvents();
  }
  if (dice < 160 && !clients_.empty()) {
    doomed_.insert(std::next(clients_.begin(), Uniform(0, static_cast<int32_t>(clients_.size()) - 1))->first);
    return;
  }
  if (dice < 175) {
    scheduler_->PreemptYoungest();
    return;
  }
  if (dice < 178) {
    scheduler_->DropPrefixCache();
    ++tally_.drops;
    return;
  }
  if (dice < 180) return scheduler_->Cancel(RequestId(next_id_ + 1000));  // unknown
  if (dice < 200) {
    now_ += std::chrono::milliseconds(Uniform(0, 20));
    return;
  }
  Step(/*may_plan=*/dice < 640);
}

void EngineSim::Step(bool may_plan) {
  if (may_plan && executor_->num_in_flight() < executor_->depth() && PlanOne()) return;
  if (executor_->num_in_flight() > 0) return CollectOne();
  // Forward progress: with nothing in flight, work means a step.
  if (!PlanOne() && scheduler_->HasWork())
    Fail("there is work, nothing is in flight, and no step is planned");
}

bool EngineSim::PlanOne() {
  const bool has_step = scheduler_->Plan(now_, &plan_);
  TakeEvents();
  if (!has_step) return false;
  if (static_cast<int32_t>(plan_.rows.size()) > config_.max_num_seqs) Fail("more rows than slots");
  if (plan_.num_tokens() > std::max(config_.max_num_batched_tokens, config_.max_num_seqs + kBlockTokens)) {
    Fail("the step exceeds the token budget");
  }
  executor_->Submit(std::move(plan_));
  return true;
}

void EngineSim::CollectOne() {
  auto result = executor_->Collect(now_);
  now_ += std::chrono::nanoseconds(result->execute_ns);
  scheduler_->Apply(&*result, now_);
  plan_ = std::move(result->plan);
  TakeEvents();
}

GenerateRequest EngineSim::MakeRequest() {
  GenerateRequest request;
  request.id = RequestId(next_id_++);
  request.priority = Chance(0.2) ? Uniform(-1, 1) : 0;
  request.cache_salt = std::string(static_cast<size_t>(Uniform(0, 2)), 's');
  const auto most = static_cast<size_t>(Uniform(1, config_.max_model_len));
  const bool next_turn = !histories_.empty() && Chance(0.3);
  const auto& begin =
      next_turn ? histories_[static_cast<size_t>(Uniform(0, static_cast<int32_t>(histories_.size()) - 1))]
                : documents_[static_cast<size_t>(Uniform(0, 3))];
  const auto shared = std::min(begin.size(), static_cast<size_t>(Uniform(0, static_cast<int32_t>(most))));
  request.prompt.assign(begin.begin(), begin.begin() + static_cast<std::ptrdiff_t>(shared));
  if (request.prompt.empty() || Chance(0.7)) {
    for (int32_t i = Uniform(1, 40); i > 0; --i) request.prompt.push_back(Uniform(0, kVocab - 1));
  }
  request.stop.max_tokens = Chance(0.05) ? 0 : Uniform(1, Chance(0.2) ? 120 : 20);
  request.stop.min_tokens = Chance(0.2) ? Uniform(1, 10) : 0;
  for (int32_t i = Uniform(0, 3); i > 0; --i) request.stop.stop_token_ids.push_back(Uniform(0, kVocab - 1));
  request.sampling.seed = static_cast<uint64_t>(Uniform(0, 3));
  if (Chance(0.1)) request.sampling.num_logprobs = 0;
  if (Chance(0.1)) request.sampling.num_prompt_logprobs = 0;
  if (Chance(0.05)) request.deadline = now_ + std::chrono::milliseconds(Uniform(0, 200));
  return request;
}

void EngineSim::AddRequest() {
  GenerateRequest request = MakeRequest();
  if (!ValidateRequest(config_, request).ok()) {
    ++tally_.refused;
    return;
  }
  domains_[request.id] = DomainOf(request.cache_salt);
  clients_[request.id].request = request;
  scheduler_->Add(std::move(request));
}

void EngineSim::TakeEvents() {
  for (SequenceEvent& event : scheduler_->events()) TakeEvent(std::move(event));
  scheduler_->events().clear();
}

void EngineSim::TakeEvent(SequenceEvent event) {
  const auto found = clients_.find(event.id);
  if (found == clients_.end()) return Fail("an event of a request that is over");
  Client& client = found->second;
  if (event.token >= 0) {
    client.tokens.push_back(event.token);
    if (client.request.sampling.num_logprobs >= 0 && event.logprob.token != event.token) {
      Fail("a logprob is missing");
    }
  }
  std::move(event.prompt_logprobs.begin(), event.prompt_logprobs.end(),
            std::back_inserter(client.prompt_logprobs));
  if (!event.finish.has_value()) return;
  CheckAnswer(client, event);
  if (event.num_cached_tokens > 0) {
    ++tally_.hits;
    const bool slides = std::any_of(config_.groups.begin(), config_.groups.end(),
                                    [](const KvGroupSpec& group) { return group.window > 0; });
    tally_.sliding_hits += slides ? 1 : 0;
  }
  if (*event.finish == FinishReason::kStop || *event.finish == FinishReason::kLength) {
    auto& history = histories_.emplace_back(client.request.prompt);
    history.insert(history.end(), client.tokens.begin(), client.tokens.end());
    if (histories_.size() > 6) histories_.erase(histories_.begin());
  }
  doomed_.erase(event.id);
  clients_.erase(found);
}

void EngineSim::CheckAnswer(const Client& client, const SequenceEvent& event) {
  const uint64_t domain = DomainOf(client.request.cache_salt);
  const FakeAnswer answer = ExpectAnswer(client.request, domain, kVocab);
  const auto num_prompt = static_cast<int32_t>(client.request.prompt.size());
  if (event.num_cached_tokens >= num_prompt || event.num_cached_tokens % kBlockTokens != 0) {
    Fail("a hit does not leave a token to compute");
  }
  if (!config_.enable_prefix_caching && event.num_cached_tokens != 0) Fail("a hit with the cache off");
  switch (*event.finish) {
    case FinishReason::kStop:
    case FinishReason::kLength:
      ++tally_.finished;
      if (client.tokens != answer.tokens) Fail("the answer is not the oracle's");
      if (*event.finish != answer.finish) Fail("the reason of the end is not the oracle's");
      if (client.prompt_logprobs.size() != answer.prompt_logprobs.size() ||
          !std::equal(client.prompt_logprobs.begin(), client.prompt_logprobs.end(),
                      answer.prompt_logprobs.begin(), [](const TokenLogprob& a, const TokenLogprob& b) {
                        return a.token == b.token && a.logprob == b.logprob;
                      })) {
        Fail("the prompt logprobs are not the oracle's");
      }
      return;
    case FinishReason::kCancelled:
      ++tally_.cancelled;
      if (!client.was_cancelled) Fail("cancelled without a cancel");
      break;
    case FinishReason::kError:
      if (event.error.code() == StatusCode::kDeadlineExceeded) {
        ++tally_.expired;
        if (client.request.deadline > now_) Fail("the deadline has not passed");
      } else {
        ++tally_.failed;
        if (!doomed_.contains(event.id)) Fail("a request failed that was not to fail");
      }
      break;
  }
  if (client.tokens.size() > answer.tokens.size() ||
      !std::equal(client.tokens.begin(), client.tokens.end(), answer.tokens.begin())) {
    Fail("a partial answer is not the beginning of the oracle's");
  }
}

void EngineSim::Check() {
  const Status status = scheduler_->Verify();
  if (!status.ok()) Fail(status.ToString());
  if (!executor_->violations().empty()) Fail(executor_->violations().front());
}

void EngineSim::Drain() {
  for (int64_t i = 0; scheduler_->HasWork() && fault_.empty(); ++i) {
    if (i > 100'000) return Fail("the drain does not end");
    Step(/*may_plan=*/true);
    Check();
  }
  while (executor_->num_in_flight() > 0 && fault_.empty()) CollectOne();
  Check();
  const SchedulerCounters counters = scheduler_->Counters();
  if (!clients_.empty()) Fail("a request never ended");
  if (counters.num_blocks_used != 0 || counters.num_running != 0 || counters.num_waiting != 0) {
    Fail("blocks or sequences are left when all is done");
  }
}

void EngineSim::Fail(std::string what) {
  if (fault_.empty()) fault_ = std::move(what);
}

}  // namespace firebrick
