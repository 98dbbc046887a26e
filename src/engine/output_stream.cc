#include "engine/output_stream.h"

#include <utility>

namespace firebrick {

namespace {

double Milliseconds(SteadyTime from, SteadyTime to) {
  return std::chrono::duration<double, std::milli>(to - from).count();
}

}  // namespace

OutputStream::OutputStream(Submission* submission, const Tokenizer* tokenizer)
    : id_(submission->request.id),
      sink_(std::move(submission->request.sink)),
      matcher_(std::move(submission->stops)),
      stop_strings_(std::move(submission->request.stop.stop_strings)),
      include_stop_(submission->request.stop.include_stop_string),
      min_tokens_(submission->request.stop.min_tokens),
      num_prompt_tokens_(static_cast<int32_t>(submission->request.prompt.size())),
      submitted_(submission->submitted) {
  if (tokenizer != nullptr) detokenizer_.emplace(*tokenizer, submission->request.skip_special_tokens);
}

TokenDelta OutputStream::Advance(SequenceEvent event) {
  TokenDelta delta;
  delta.id = id_;
  delta.prompt_logprobs = std::move(event.prompt_logprobs);
  seconds_to_first_token_.reset();
  seconds_between_tokens_.reset();
  if (event.token >= 0) {
    CountToken(event.time);
    delta.tokens.push_back(event.token);
    if (event.logprob.token >= 0) delta.logprobs.push_back(std::move(event.logprob));
    AppendText(event.matched_stop_token.has_value(), &delta);
  }
  if (event.finish.has_value() && !delta.finish.has_value()) {
    if (detokenizer_.has_value()) Search(detokenizer_->Flush(), &delta);
    if (!delta.finish.has_value()) {
      if (matcher_.has_value()) delta.text += matcher_->Flush();
      delta.finish = event.finish;
      delta.matched_stop_token = event.matched_stop_token;
      delta.error = std::move(event.error);
    }
  }
  if (delta.finish.has_value()) FillAccounts(event, &delta);
  return delta;
}

void OutputStream::AppendText(bool is_stop_token, TokenDelta* delta) {
  if (!detokenizer_.has_value() || (is_stop_token && !include_stop_)) return;
  Search(detokenizer_->Push(delta->tokens.back()), delta);
}

// Text of the first min_tokens tokens passes unsearched, as their stop ids are masked.
void OutputStream::Search(const std::string& text, TokenDelta* delta) {
  if (!matcher_.has_value() || num_tokens_ <= min_tokens_) {
    delta->text += text;
    return;
  }
  StopMatcher::Output found = matcher_->Push(text);
  delta->text += found.text;
  if (!found.matched.has_value()) return;
  delta->finish = FinishReason::kStop;
  delta->matched_stop_string = stop_strings_[*found.matched];
}

void OutputStream::CountToken(SteadyTime time) {
  if (num_tokens_++ == 0) {
    first_token_ = time;
    seconds_to_first_token_ = Milliseconds(submitted_, time) / 1e3;
  } else {
    seconds_between_tokens_ = Milliseconds(last_token_, time) / 1e3;
  }
  last_token_ = time;
}

void OutputStream::FillAccounts(const SequenceEvent& event, TokenDelta* delta) const {
  delta->usage = {num_prompt_tokens_, num_tokens_, event.num_cached_tokens};
  const SteadyTime planned = event.first_planned.value_or(event.time);
  delta->timings.queue_ms = Milliseconds(submitted_, planned);
  if (event.first_planned.has_value()) {
    delta->timings.prefill_ms = Milliseconds(planned, num_tokens_ > 0 ? first_token_ : event.time);
  }
  if (num_tokens_ > 0) delta->timings.decode_ms = Milliseconds(first_token_, last_token_);
  delta->timings.num_preemptions = event.num_preemptions;
}

}  // namespace firebrick
