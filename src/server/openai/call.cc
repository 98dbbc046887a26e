#include "server/openai/call.h"

#include <algorithm>

#include "text/tokenizer.h"

namespace firebrick {
namespace {

size_t CountCharacters(std::string_view text) {
  return static_cast<size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

ApiError RefusalOf(const Status& status) {
  ApiError error = FromStatus(status);
  // What the engine finds wrong after our own checks is the length: the pool is smaller than the context.
  if (status.code() == StatusCode::kInvalidArgument) error.code = "context_length_exceeded";
  return error;
}

}  // namespace

class Call::ChoiceSink final : public TokenSink {
 public:
  ChoiceSink(std::shared_ptr<Call> call, size_t choice) : call_(std::move(call)), choice_(choice) {}
  void OnDelta(TokenDelta delta) override { call_->OnDelta(choice_, std::move(delta)); }

 private:
  const std::shared_ptr<Call> call_;
  const size_t choice_;
};

Call::Call(Facts facts, std::unique_ptr<AnswerSink> sink, std::vector<ChoicePlan> plans)
    : facts_(facts), sink_(std::move(sink)), choices_(plans.size()), num_unfinished_(plans.size()) {
  for (size_t i = 0; i < plans.size(); ++i) {
    choices_[i].plan = std::move(plans[i]);
    if (facts_.wants_offsets) choices_[i].offsets.emplace(*facts_.tokenizer, facts_.skip_special_tokens);
  }
}

void Call::Run(std::vector<GenerateRequest> requests) {
  CHECK(requests.size() == choices_.size());
  for (GenerateRequest& request : requests) {
    request.id = facts_.engine->NewRequestId();
    ids_.push_back(request.id);
  }
  Status refusal;
  for (size_t i = 0; i < requests.size() && refusal.ok(); ++i) {
    requests[i].sink = std::make_shared<ChoiceSink>(shared_from_this(), i);
    refusal = facts_.engine->Submit(std::move(requests[i]));
  }
  {
    const std::lock_guard lock(mutex_);
    admitted_ = true;
    if (!refusal.ok()) {
      closed_ = true;
      sink_->Fail(RefusalOf(refusal));
    }
    for (auto& [choice, delta] : std::exchange(early_, {})) ApplyLocked(choice, std::move(delta));
  }
  if (!refusal.ok()) return CancelAll();
  sink_->OnDisconnect([weak = weak_from_this()] {
    if (const auto call = weak.lock()) call->CancelAll();
  });
}

void Call::OnDelta(size_t choice, TokenDelta delta) {
  const std::lock_guard lock(mutex_);
  if (admitted_) {
    ApplyLocked(choice, std::move(delta));
  } else {
    early_.emplace_back(choice, std::move(delta));
  }
}

void Call::ApplyLocked(size_t index, TokenDelta delta) {
  if (closed_) return;
  Choice& choice = choices_[index];
  if (delta.finish == FinishReason::kError) return FailLocked(FromStatus(delta.error));
  if (delta.finish == FinishReason::kCancelled) {
    return FailLocked(
        FromStatus(Status(StatusCode::kCancelled, "the server ended the request before it was done")));
  }
  AnswerPiece piece = MakePiece(index, delta);
  if (delta.finish) {
    choice.finish = delta.finish;
    choice.usage = delta.usage;
    --num_unfinished_;
  }
  if (!sink_->Add(std::move(piece))) {
    closed_ = true;
    return CancelAll();
  }
  if (num_unfinished_ > 0) return;
  closed_ = true;
  sink_->End(TotalUsage());
}

AnswerPiece Call::MakePiece(size_t index, const TokenDelta& delta) {
  Choice& choice = choices_[index];
  AnswerPiece piece;
  piece.choice = index;
  if (!choice.begun) {
    choice.begun = true;
    if (choice.plan.echo) AddEcho(&choice, delta, &piece);
  }
  piece.text += delta.text;
  if (facts_.wants_logprobs) {
    for (size_t i = 0; i < delta.tokens.size() && i < delta.logprobs.size(); ++i) {
      piece.logprobs.push_back(MakeLogprob(&choice, delta.tokens[i], &delta.logprobs[i]));
    }
  }
  if (!delta.finish) return piece;
  piece.finish_reason = delta.finish == FinishReason::kLength ? "length" : "stop";
  if (piece.finish_reason == "length") return piece;
  if (!delta.matched_stop_string.empty()) {
    piece.stop_reason = delta.matched_stop_string;
  } else if (delta.matched_stop_token) {
    const auto& mine = choice.plan.caller_stop_ids;
    if (std::find(mine.begin(), mine.end(), *delta.matched_stop_token) != mine.end()) {
      piece.stop_reason = *delta.matched_stop_token;
    }
  }
  return piece;
}

void Call::AddEcho(Choice* choice, const TokenDelta& delta, AnswerPiece* piece) {
  piece->text = choice->plan.prompt_text;
  if (!facts_.wants_logprobs) return;
  const std::vector<int32_t>& prompt = choice->plan.prompt;
  for (size_t i = 0; i < prompt.size(); ++i) {
    const bool has_logprob = i > 0 && i - 1 < delta.prompt_logprobs.size();
    piece->logprobs.push_back(
        MakeLogprob(choice, prompt[i], has_logprob ? &delta.prompt_logprobs[i - 1] : nullptr));
  }
}

AnswerLogprob Call::MakeLogprob(Choice* choice, int32_t token, const TokenLogprob* logprob) {
  AnswerLogprob entry;
  entry.token_bytes = facts_.tokenizer->TokenBytes(token);
  if (logprob != nullptr) {
    entry.logprob = logprob->logprob;
    for (const auto& [id, value] : logprob->top)
      entry.top.emplace_back(facts_.tokenizer->TokenBytes(id), value);
  }
  if (choice->offsets) {
    entry.text_offset = choice->num_characters;
    choice->num_characters += CountCharacters(choice->offsets->Push(token));
  }
  return entry;
}

void Call::FailLocked(const ApiError& error) {
  closed_ = true;
  sink_->Fail(error);
  CancelAll();
}

// A prompt is counted once, however many choices it has; of its choices the one that found least in the cache
// says what was cached, because the others find what that one computed.
Usage Call::TotalUsage() const {
  Usage total;
  std::vector<std::optional<int32_t>> cached;
  for (const Choice& choice : choices_) {
    total.completion_tokens += choice.usage.completion_tokens;
    if (cached.size() <= choice.plan.prompt_idx) cached.resize(choice.plan.prompt_idx + 1);
    std::optional<int32_t>& least = cached[choice.plan.prompt_idx];
    if (!least) total.prompt_tokens += choice.usage.prompt_tokens;
    least = std::min(least.value_or(choice.usage.cached_tokens), choice.usage.cached_tokens);
  }
  for (const auto& least : cached) total.cached_tokens += least.value_or(0);
  return total;
}

void Call::CancelAll() {
  for (const RequestId id : ids_) facts_.engine->Cancel(id);
}

}  // namespace firebrick
