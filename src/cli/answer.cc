#include "cli/answer.h"

#include <chrono>
#include <limits>

#include "base/json.h"
#include "base/queue.h"

namespace firebrick {
namespace {

constexpr std::chrono::milliseconds kPollInterruptEvery{50};

// Hands deltas to the waiting thread. Unbounded: it holds one request, whose length the engine bounds.
class WaitingSink : public TokenSink {
 public:
  void OnDelta(TokenDelta delta) override { deltas_.TryPush(std::move(delta)); }
  std::optional<TokenDelta> Next() {
    return deltas_.PopUntil(std::chrono::steady_clock::now() + kPollInterruptEvery);
  }

 private:
  BoundedQueue<TokenDelta> deltas_{std::numeric_limits<size_t>::max()};
};

void Append(TokenDelta& delta, Answer* answer) {
  answer->text += delta.text;
  answer->token_ids.insert(answer->token_ids.end(), delta.tokens.begin(), delta.tokens.end());
  if (!delta.finish.has_value()) return;
  answer->finish = *delta.finish;
  answer->usage = delta.usage;
  answer->timings = delta.timings;
}

}  // namespace

Result<Answer> GenerateAnswer(Engine& engine, GenerateRequest request, const OnText& on_text,
                              const std::function<bool()>& interrupted) {
  const auto sink = std::make_shared<WaitingSink>();
  const RequestId id = engine.NewRequestId();
  request.id = id;
  request.sink = sink;
  RETURN_IF_ERROR(engine.Submit(std::move(request)));
  Answer answer;
  bool cancelled = false;
  while (true) {
    if (!cancelled && interrupted()) {
      engine.Cancel(id);
      cancelled = true;
    }
    std::optional<TokenDelta> delta = sink->Next();
    if (!delta.has_value()) continue;
    if (!delta->text.empty()) on_text(delta->text);
    Append(*delta, &answer);
    if (delta->finish == FinishReason::kError) return delta->error;
    if (delta->finish.has_value()) return answer;
  }
}

Result<std::vector<int32_t>> EncodeMessages(const LoadedModel& loaded, const Json& messages) {
  if (!loaded.chat_template.has_value()) {
    return MakeError(
        StatusCode::kFailedPrecondition,
        "{} has no chat template: it is a base model. Give it text to continue with --raw -p TEXT, or "
        "take an instruction-tuned model",
        loaded.name);
  }
  ChatTemplate::Request request;
  request.messages = messages;
  request.bos_token = loaded.bos_text;
  request.eos_token = loaded.eos_text;
  ASSIGN_OR_RETURN(const RenderedPrompt prompt, loaded.chat_template->Render(request));
  std::vector<TextSpan> spans;
  for (const RenderedPrompt::Span& span : prompt.spans) spans.push_back({span.text, span.allow_special});
  return loaded.tokenizer.Encode(spans, false);
}

}  // namespace firebrick
