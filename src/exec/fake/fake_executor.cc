#include "exec/fake/fake_executor.h"

#include <algorithm>
#include <thread>

namespace firebrick {

namespace {

uint64_t Mix(uint64_t value) {  // the finalizer of MurmurHash3
  value ^= value >> 33;
  value *= 0xff51afd7ed558ccdULL;
  value ^= value >> 33;
  value *= 0xc4ceb9fe1a85ec53ULL;
  return value ^ (value >> 33);
}

uint64_t FirstHistory(uint64_t domain) { return Mix(domain + 0x9e3779b97f4a7c15ULL); }
uint64_t NextHistory(uint64_t history, int32_t token) {
  return Mix(history * 31 + static_cast<uint64_t>(token) + 1);
}

// The token that follows a history, keyed like real sampling by (seed, choice, position).
int32_t NextToken(uint64_t history, const SamplingParams& sampling, std::span<const int32_t> stop_ids,
                  bool mask_stops, int32_t vocab_size) {
  const auto vocab = static_cast<uint64_t>(vocab_size);
  auto token = static_cast<int32_t>(Mix(history ^ Mix(sampling.seed + sampling.choice)) % vocab);
  while (mask_stops && std::find(stop_ids.begin(), stop_ids.end(), token) != stop_ids.end()) {
    token = (token + 1) % vocab_size;
  }
  return token;
}

TokenLogprob LogprobOf(uint64_t history, int32_t token) {
  return {token, -static_cast<float>(Mix(history + static_cast<uint64_t>(token)) % 1000) / 100.0F, {}};
}

}  // namespace

FakeAnswer ExpectAnswer(const GenerateRequest& request, uint64_t domain, int32_t vocab_size) {
  FakeAnswer answer;
  uint64_t history = FirstHistory(domain);
  for (size_t i = 0; i < request.prompt.size(); ++i) {
    if (i > 0 && request.sampling.num_prompt_logprobs >= 0) {
      answer.prompt_logprobs.push_back(LogprobOf(history, request.prompt[i]));
    }
    history = NextHistory(history, request.prompt[i]);
  }
  const std::vector<int32_t>& stops = request.stop.stop_token_ids;
  for (int32_t i = 0; i < request.stop.max_tokens; ++i) {
    const bool mask_stops = i < request.stop.min_tokens;
    const int32_t token = NextToken(history, request.sampling, stops, mask_stops, vocab_size);
    answer.tokens.push_back(token);
    history = NextHistory(history, token);
    if (!mask_stops && std::find(stops.begin(), stops.end(), token) != stops.end()) {
      answer.finish = FinishReason::kStop;
      break;
    }
  }
  return answer;
}

FakeExecutor::FakeExecutor(FakeExecutorConfig config, FakeExecutorHooks hooks)
    : config_(std::move(config)),
      hooks_(std::move(hooks)),
      arena_(static_cast<size_t>(config_.num_blocks) * kBlockTokens),
      slots_(static_cast<size_t>(config_.max_num_seqs)) {}

void FakeExecutor::Submit(StepPlan plan) {
  queue_.push_back(std::move(plan));
  if (num_in_flight() > config_.depth) Violate("more steps in flight than the depth");
}

std::optional<StepResult> FakeExecutor::Collect(std::chrono::steady_clock::time_point /*deadline*/) {
  if (queue_.empty()) return std::nullopt;
  StepResult result;
  result.plan = std::move(queue_.front());
  queue_.pop_front();
  const StepPlan& plan = result.plan;
  result.step_id = plan.step_id;
  result.execute_ns = config_.ns_per_step + config_.ns_per_token * plan.num_tokens();
  if (config_.sleeps) std::this_thread::sleep_for(std::chrono::nanoseconds(result.execute_ns));
  ApplyTables(plan);
  for (const StepRow& row : plan.rows) result.rows.push_back(RunRow(plan, row));
  return result;
}

void FakeExecutor::ApplyTables(const StepPlan& plan) {
  for (const SeqSlot slot : plan.closed) {
    if (!slots_[slot.value()].is_open) Violate("a slot is closed that is not open");
    slots_[slot.value()] = Slot();
  }
  for (const SlotOpen& open : plan.opened) {
    Slot& slot = slots_[open.slot.value()];
    if (slot.is_open) Violate("a slot is opened twice");
    slot = Slot();
    slot.is_open = true;
    slot.facts = open;
    slot.tables.resize(config_.groups.size());
    uint64_t history = FirstHistory(hooks_.domain ? hooks_.domain(open.request) : 0);
    for (const int32_t token : open.tokens) slot.histories.push_back(history = NextHistory(history, token));
  }
  for (const BlockTrim& trim : plan.trimmed) {
    Table& table = slots_[trim.slot.value()].tables.at(trim.group);
    const int32_t count = trim.first_block_idx - table.first_block_idx;
    if (count <= 0 || count > static_cast<int32_t>(table.blocks.size())) {
      Violate("a trim does not fit its table");
      continue;
    }
    table.blocks.erase(table.blocks.begin(), table.blocks.begin() + count);
    table.first_block_idx = trim.first_block_idx;
  }
  for (const BlockAppend& append : plan.appended) {
    Table& table = slots_[append.slot.value()].tables.at(append.group);
    if (table.blocks.empty() && table.first_block_idx == 0) table.first_block_idx = append.block_idx;
    if (append.block_idx != table.first_block_idx + static_cast<int32_t>(table.blocks.size())) {
      Violate("a block is appended with a hole");
    }
    table.blocks.push_back(append.block);
  }
  for (const BlockId block : plan.zeroed) {
    std::fill_n(arena_.begin() + static_cast<std::ptrdiff_t>(block.value()) * kBlockTokens, kBlockTokens,
                Cell());
  }
}

RowResult FakeExecutor::RunRow(const StepPlan& plan, const StepRow& row) {
  RowResult result;
  result.slot = row.slot;
  Slot& slot = slots_[row.slot.value()];
  const int32_t end = row.first_position + row.num_tokens;
  if (!slot.is_open || row.num_tokens < 1) {
    Violate("a row has no open slot or no tokens");
    return result;
  }
  slot.has_failed |= hooks_.fails && hooks_.fails(slot.facts.request, row.first_position);
  if (slot.has_failed) {
    result.status = Status(StatusCode::kInternal, "injected failure");
    return result;  // its pages stay unwritten
  }
  const auto num_known = static_cast<int32_t>(slot.histories.size());
  if (end > num_known || (row.id_from_slot && (row.num_tokens != 1 || end != num_known)) ||
      (row.wants_token && end != num_known)) {
    Violate("a row does not end where the tokens of its slot end");
    return result;
  }
  for (int32_t i = 0; !row.id_from_slot && i < row.num_tokens; ++i) {
    if (plan.token_ids.at(static_cast<size_t>(row.token_offset + i)) !=
        slot.facts.tokens[static_cast<size_t>(row.first_position + i)]) {
      Violate("a row carries other tokens than its sequence has");
    }
  }
  for (size_t g = 0; g < config_.groups.size(); ++g) TouchPages(row, g, &slot);
  for (int32_t p = row.first_position; row.wants_prompt_logprobs && p < end; ++p) {
    const auto next = static_cast<size_t>(p + 1);
    if (p + 1 >= slot.facts.num_prompt_tokens) break;
    result.prompt_logprobs.push_back(LogprobOf(slot.histories[next - 1], slot.facts.tokens[next]));
  }
  if (!row.wants_token) return result;
  const uint64_t history = slot.histories.back();
  const bool mask_stops = end - slot.facts.num_prompt_tokens < slot.facts.min_tokens;
  result.token =
      NextToken(history, slot.facts.sampling, slot.facts.stop_token_ids, mask_stops, config_.vocab_size);
  if (slot.facts.sampling.num_logprobs >= 0) result.logprob = LogprobOf(history, result.token);
  slot.facts.tokens.push_back(result.token);
  slot.histories.push_back(NextHistory(history, result.token));
  return result;
}

// Writes the row's cells, then reads all that its tokens see.
void FakeExecutor::TouchPages(const StepRow& row, size_t group, Slot* slot) {
  const int32_t end = row.first_position + row.num_tokens;
  for (int32_t p = row.first_position; p < end; ++p) {
    Cell* cell = CellOf(*slot, group, p);
    if (cell == nullptr) return Violate("a row has no page to write to");
    *cell = {p, slot->histories[static_cast<size_t>(p)]};
  }
  const int32_t window = config_.groups[group].window;
  const int32_t first = window == 0 ? 0 : std::max(0, row.first_position - window + 1);
  for (int32_t p = first; p < end; ++p) {
    const Cell* cell = CellOf(*slot, group, p);
    if (cell == nullptr || cell->position != p || cell->history != slot->histories[static_cast<size_t>(p)]) {
      slot->histories.back() = ~slot->histories.back();  // the answer is wrong, too
      return Violate(fmt::format("step row of request {}: group {}, position {} of [{}, {}): {}",
                                 slot->facts.request.value(), group, p, first, end,
                                 cell == nullptr ? "no page" : "the page holds something else"));
    }
  }
}

FakeExecutor::Cell* FakeExecutor::CellOf(const Slot& slot, size_t group, int32_t position) {
  const Table& table = slot.tables[group];
  const int32_t i = position / kBlockTokens - table.first_block_idx;
  if (i < 0 || i >= static_cast<int32_t>(table.blocks.size())) return nullptr;
  const auto page = static_cast<size_t>(table.blocks[static_cast<size_t>(i)].value());
  return &arena_[page * kBlockTokens + static_cast<size_t>(position % kBlockTokens)];
}

void FakeExecutor::Violate(std::string what) {
  if (violations_.size() < 20) violations_.push_back(std::move(what));
}

}  // namespace firebrick
