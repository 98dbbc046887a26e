// Scheduler: who may enter.
#include <algorithm>

#include "sched/scheduler.h"

namespace firebrick {

namespace {

// A sequence that got no row for this many steps does not hold back those that wait for its prefix.
constexpr uint64_t kStalledSteps = 8;

}  // namespace

Status ValidateRequest(const SchedulerConfig& config, const GenerateRequest& request) {
  const auto num_prompt = static_cast<int64_t>(request.prompt.size());
  const int64_t max_tokens = request.stop.max_tokens;
  if (num_prompt == 0) return InvalidArgument("the prompt is empty; send at least one token");
  if (max_tokens < 0) return InvalidArgument("max_tokens is {}; it must not be negative", max_tokens);
  if (num_prompt + max_tokens > config.max_model_len) {
    return InvalidArgument(
        "the prompt has {} tokens and max_tokens is {}: together more than the model length of {}; shorten "
        "the "
        "prompt or lower max_tokens",
        num_prompt, max_tokens, config.max_model_len);
  }
  const auto num_positions = static_cast<int32_t>(num_prompt + std::max<int64_t>(max_tokens, 1) - 1);
  const int32_t needed = PeakBlocks(config.groups, num_positions);
  if (needed > config.num_blocks) {
    return InvalidArgument(
        "the prompt has {} tokens and max_tokens is {}: that takes {} KV blocks and the pool has {}; shorten "
        "it, or "
        "start the server with more --kv-cache-memory",
        num_prompt, max_tokens, needed, config.num_blocks);
  }
  return OkStatus();
}

void Scheduler::Add(GenerateRequest request) {
  auto owned = std::make_unique<Sequence>();
  Sequence* seq = owned.get();
  seq->id = request.id;
  seq->priority = request.priority;
  seq->arrival = next_arrival_++;
  seq->num_prompt_tokens = static_cast<int32_t>(request.prompt.size());
  seq->sampling = std::move(request.sampling);
  seq->stop_token_ids = std::move(request.stop.stop_token_ids);
  seq->min_tokens = request.stop.min_tokens;
  seq->max_tokens = request.stop.max_tokens;
  seq->deadline = request.deadline;
  seq->tokens = std::move(request.prompt);
  ledger_.SetRootKey(config_.key_root, request.cache_salt, seq);
  ledger_.ExtendKeys(seq);
  next_deadline_ = std::min(next_deadline_, seq->deadline);
  const bool is_new = sequences_.emplace(seq->id, std::move(owned)).second;
  CHECK(is_new);
  InsertWaiting(seq);
}

void Scheduler::InsertWaiting(Sequence* seq) {
  seq->state = SequenceState::kWaiting;
  const auto rank = [](const Sequence* a, const Sequence* b) { return RanksBefore(*a, *b); };
  waiting_.insert(std::upper_bound(waiting_.begin(), waiting_.end(), seq, rank), seq);
}

// kFull keeps the order of service: nobody behind overtakes one that waits for memory or a slot. One that
// waits for a prefix being computed (kSkipped) may be overtaken.
Scheduler::Admission Scheduler::TryAdmit(Sequence* seq, SteadyTime now) {
  if (free_slots_.empty()) return Admission::kFull;
  if (seq->awaited_block_idx >= 0 && IsBeingFilled(*seq, seq->awaited_block_idx)) return Admission::kSkipped;
  const PrefixHit hit = ledger_.FindPrefix(*seq);
  seq->awaited_block_idx = IsBeingFilled(*seq, hit.num_blocks) ? hit.num_blocks : -1;
  if (seq->awaited_block_idx >= 0) return Admission::kSkipped;

  // The whole prompt must fit, with a block of growth for everyone that runs, so that an admission is not
  // followed by a preemption at once. Alone, it always fits.
  if (!running_.empty() || num_draining_ > 0) {
    int32_t num_hit = 0;
    for (const PrefixHit::Group& group : hit.groups) num_hit += static_cast<int32_t>(group.blocks.size());
    const int32_t needed =
        std::max(0, ledger_.PeakBlocks(seq->length()) - num_hit) + ledger_.NumCachedBlocks(hit);
    const auto growth = static_cast<int32_t>((running_.size() + 1) * config_.groups.size());
    if (needed + growth + PromisedBlocks() > ledger_.pool().num_available()) return Admission::kFull;
  }

  ledger_.TakePrefix(hit, seq);
  seq->state = SequenceState::kRunning;
  seq->slot = free_slots_.back();
  free_slots_.pop_back();
  seq->admitted_step = step_id_ + 1;
  if (!seq->was_admitted) {
    seq->was_admitted = true;
    seq->first_planned = now;
    seq->num_cached_tokens = seq->num_computed;
    counters_.prompt_tokens += static_cast<uint64_t>(seq->num_prompt_tokens);
    if (config_.enable_prefix_caching) {
      counters_.prefix_queries += static_cast<uint64_t>(seq->num_prompt_tokens);
      counters_.prefix_hits += static_cast<uint64_t>(seq->num_cached_tokens);
    }
  }
  const auto rank = [](const Sequence* a, const Sequence* b) { return RanksBefore(*a, *b); };
  running_.insert(std::upper_bound(running_.begin(), running_.end(), seq, rank), seq);
  return Admission::kAdmitted;
}

// Whether a running sequence is about to compute block `block_idx` of this prompt. Chained keys stand for the
// whole prefix, so equal keys at equal depth are enough.
bool Scheduler::IsBeingFilled(const Sequence& seq, int32_t block_idx) const {
  const auto idx = static_cast<size_t>(block_idx);
  if (seq.wants_prompt_logprobs() || idx >= seq.keys.size() ||
      block_idx >= (seq.length() - 1) / kBlockTokens) {
    return false;
  }
  return std::any_of(running_.begin(), running_.end(), [&](const Sequence* other) {
    return idx < other->keys.size() && other->num_computed < (block_idx + 1) * kBlockTokens &&
           step_id_ + 1 - std::max(other->last_row_step, other->admitted_step) <= kStalledSteps &&
           other->keys[idx] == seq.keys[idx];
  });
}

// Blocks that running prefills will still take for the tokens they have.
int32_t Scheduler::PromisedBlocks() const {
  int32_t total = 0;
  for (const Sequence* seq : running_) {
    if (seq->to_plan() > 1) total += std::max(0, ledger_.PeakBlocks(seq->length()) - seq->num_blocks_held());
  }
  return total;
}

}  // namespace firebrick
