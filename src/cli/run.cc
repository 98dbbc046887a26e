// `firebrick run`: one answer with -p, or a chat in the terminal. Thread: the main thread waits; deltas come
// on the engine's output thread.
#include <condition_variable>
#include <csignal>
#include <iostream>
#include <memory>
#include <mutex>
#include <random>

#include <unistd.h>

#include "base/log.h"
#include "base/utf8.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "cli/model_session.h"

namespace firebrick {
namespace {

constexpr int32_t kDefaultMaxTokens = 512;

struct RunCommand {
  ModelOptions model;
  EngineOptions engine;
  std::optional<std::string> prompt;
  std::string system;
  int32_t max_tokens = kDefaultMaxTokens;
  std::optional<double> temperature, top_p, min_p;
  std::optional<uint64_t> top_k, seed;
  bool raw = false;
  bool json = false;
};

volatile std::sig_atomic_t interrupted = 0;

// While it lives, Ctrl-C sets `interrupted` instead of ending the process.
class InterruptScope {
 public:
  InterruptScope() {
    interrupted = 0;
    struct sigaction action {};
    action.sa_handler = [](int) { interrupted = 1; };
    sigaction(SIGINT, &action, &former_);
  }
  ~InterruptScope() { sigaction(SIGINT, &former_, nullptr); }
  InterruptScope(const InterruptScope&) = delete;
  InterruptScope& operator=(const InterruptScope&) = delete;

 private:
  struct sigaction former_ {};
};

struct Answer {
  std::string text;
  std::vector<int32_t> tokens;
  TokenDelta last;
};

// Prints text as it comes (where asked to) and keeps all of it.
class TerminalSink final : public TokenSink {
 public:
  explicit TerminalSink(bool prints) : prints_(prints) {}

  void OnDelta(TokenDelta delta) override {
    const std::lock_guard lock(mutex_);
    if (prints_) std::cout << delta.text << std::flush;
    answer_.text += delta.text;
    answer_.tokens.insert(answer_.tokens.end(), delta.tokens.begin(), delta.tokens.end());
    if (!delta.finish) return;
    answer_.last = std::move(delta);
    done_ = true;
    ready_.notify_all();
  }

  // Waits for the end; Ctrl-C cancels the request and ends it sooner.
  Answer Wait(Engine& engine, RequestId id) {
    std::unique_lock lock(mutex_);
    while (!done_) {
      ready_.wait_for(lock, std::chrono::milliseconds(50));
      if (interrupted == 0) continue;
      lock.unlock();
      engine.Cancel(id);
      lock.lock();
    }
    return std::move(answer_);
  }

 private:
  const bool prints_;
  std::mutex mutex_;
  std::condition_variable ready_;
  Answer answer_;
  bool done_ = false;
};

Result<std::vector<int32_t>> EncodeRaw(const LoadedModel& loaded, const std::string& text) {
  return loaded.tokenizer.Encode(text, SpecialTokens::kRecognise, /*add_special=*/true);
}

Result<std::vector<int32_t>> EncodeChat(const LoadedModel& loaded, const Json& messages) {
  if (!loaded.chat_template) {
    return MakeError(StatusCode::kFailedPrecondition,
                     "{} has no chat template: it is a base model; continue a text with --raw -p TEXT",
                     loaded.name);
  }
  ChatTemplate::Request request;
  request.messages = messages;
  request.bos_token = loaded.bos_text;
  request.eos_token = loaded.eos_text;
  ASSIGN_OR_RETURN(const RenderedPrompt rendered, loaded.chat_template->Render(request));
  std::vector<TextSpan> spans;
  for (const RenderedPrompt::Span& span : rendered.spans) spans.push_back({span.text, span.allow_special});
  return loaded.tokenizer.Encode(spans, /*add_special=*/false);
}

GenerateRequest MakeRequest(const RunCommand& command, const ModelSession& session,
                            std::vector<int32_t> prompt) {
  const GenerationDefaults& defaults = session.loaded.model->config().generation;
  GenerateRequest request;
  request.id = session.engine->NewRequestId();
  SamplingParams& sampling = request.sampling;
  const auto choose = [](const std::optional<double>& flag, const std::optional<float>& model,
                         float otherwise) {
    return flag ? static_cast<float>(*flag) : model.value_or(otherwise);
  };
  sampling.temperature = choose(command.temperature, defaults.temperature, 1.0F);
  sampling.top_p = choose(command.top_p, defaults.top_p, 1.0F);
  sampling.min_p = choose(command.min_p, defaults.min_p, 0.0F);
  sampling.top_k = command.top_k ? static_cast<int32_t>(*command.top_k) : defaults.top_k.value_or(0);
  sampling.repetition_penalty = defaults.repetition_penalty.value_or(1.0F);
  sampling.seed = command.seed.value_or(std::random_device{}());
  request.stop.stop_token_ids = session.loaded.end_ids;
  const int32_t room = session.engine->max_model_len() - static_cast<int32_t>(prompt.size());
  request.stop.max_tokens = std::max(1, std::min(command.max_tokens, room));
  request.prompt = std::move(prompt);
  return request;
}

Result<Answer> Generate(const RunCommand& command, ModelSession& session, std::vector<int32_t> prompt,
                        bool prints) {
  auto sink = std::make_shared<TerminalSink>(prints);
  GenerateRequest request = MakeRequest(command, session, std::move(prompt));
  const RequestId id = request.id;
  request.sink = sink;
  const InterruptScope scope;
  RETURN_IF_ERROR(session.engine->Submit(std::move(request)));
  Answer answer = sink->Wait(*session.engine, id);
  if (answer.last.finish == FinishReason::kError) return answer.last.error;
  return answer;
}

std::string_view NameOf(FinishReason reason) {
  switch (reason) {
    case FinishReason::kStop:
      return "stop";
    case FinishReason::kLength:
      return "length";
    case FinishReason::kCancelled:
      return "cancelled";
    case FinishReason::kError:
      return "error";
  }
  return "error";
}

Json JsonOf(const Answer& answer) {
  const Usage& usage = answer.last.usage;
  const Timings& timings = answer.last.timings;
  return {{"text", answer.text},
          {"token_ids", answer.tokens},
          {"finish_reason", NameOf(*answer.last.finish)},
          {"usage",
           {{"prompt_tokens", usage.prompt_tokens},
            {"completion_tokens", usage.completion_tokens},
            {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
            {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}}},
          {"timings",
           {{"queue_ms", timings.queue_ms},
            {"prefill_ms", timings.prefill_ms},
            {"decode_ms", timings.decode_ms}}}};
}

Json FirstMessages(const RunCommand& command) {
  Json messages = Json::array();
  if (!command.system.empty()) messages.push_back({{"role", "system"}, {"content", command.system}});
  return messages;
}

Status RunOnce(const RunCommand& command, ModelSession& session) {
  Json messages = FirstMessages(command);
  messages.push_back({{"role", "user"}, {"content", *command.prompt}});
  ASSIGN_OR_RETURN(std::vector<int32_t> prompt, command.raw ? EncodeRaw(session.loaded, *command.prompt)
                                                            : EncodeChat(session.loaded, messages));
  ASSIGN_OR_RETURN(const Answer answer, Generate(command, session, std::move(prompt), !command.json));
  std::cout << (command.json ? JsonOf(answer).dump() : "") << std::endl;
  return OkStatus();
}

Status Chat(const RunCommand& command, ModelSession& session) {
  const bool terminal = ::isatty(STDIN_FILENO) != 0;
  if (terminal) {
    std::cerr << "Chat with " << session.loaded.name << ". Ctrl-C stops an answer, Ctrl-D ends the chat.\n";
  }
  Json messages = FirstMessages(command);
  std::string line;
  while (true) {
    if (terminal) std::cerr << "> " << std::flush;
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    if (!IsValidUtf8(line)) return InvalidArgument("the message is not valid UTF-8");
    messages.push_back({{"role", "user"}, {"content", line}});
    ASSIGN_OR_RETURN(std::vector<int32_t> prompt, EncodeChat(session.loaded, messages));
    auto answer = Generate(command, session, std::move(prompt), /*prints=*/true);
    std::cout << std::endl;
    if (!answer.ok()) return answer.status();
    messages.push_back({{"role", "assistant"}, {"content", answer->text}});
  }
  if (terminal) std::cerr << '\n';
  return OkStatus();
}

Status Run(const RunCommand& command) {
  RETURN_IF_ERROR(ConfigureLog("warn"));
  if (!command.prompt && (command.raw || command.json)) {
    return InvalidArgument("--raw and --json need a text: give it with -p TEXT");
  }
  if (command.prompt && !IsValidUtf8(*command.prompt))
    return InvalidArgument("the text of -p is not valid UTF-8");
  ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(command.model, command.json));
  ASSIGN_OR_RETURN(const auto session, StartSession(std::move(loaded), command.engine, {}));
  return command.prompt ? RunOnce(command, *session) : Chat(command, *session);
}

}  // namespace

CommandAction DeclareRun(FlagSet* flags) {
  auto command = std::make_shared<RunCommand>();
  command->engine.max_num_seqs.value = 1;
  AddModelFlags(&command->model, flags);
  AddContextFlags(&command->engine, flags);
  flags->Text("-p,--prompt", "TEXT", "Answer this and end; left out: chat", &command->prompt);
  flags->Text("--system", "TEXT", "System message", &command->system);
  flags->Integer("--max-tokens", "N", "Longest answer", &command->max_tokens, 1);
  flags->Real("--temperature", "T", "0 is greedy; otherwise the model's own", &command->temperature, 0, 100);
  flags->Unsigned("--top-k", "K", "Only the K best tokens; 0 is off", &command->top_k);
  flags->Real("--top-p", "P", "Only the best tokens that reach probability P", &command->top_p, 1e-6, 1);
  flags->Real("--min-p", "P", "Only tokens of P times the best one's probability", &command->min_p, 0, 1);
  flags->Unsigned("--seed", "N", "The same seed gives the same answer", &command->seed);
  flags->Switch("--raw", "Continue the text of -p as it is, without a chat template", &command->raw);
  flags->Switch("--json", "Print one JSON object: text, token_ids, finish_reason, usage, timings",
                &command->json);
  flags->Example("firebrick run model.gguf -p 'What is a firebrick?' --max-tokens 64 --temperature 0 --json");
  return [command] { return Run(*command); };
}

}  // namespace firebrick
