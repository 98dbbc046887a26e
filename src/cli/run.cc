// firebrick run: chat with a model in the terminal, or one answer with -p.
#include <csignal>
#include <cstdio>
#include <iostream>
#include <memory>
#include <random>

#include <signal.h>  // NOLINT(modernize-deprecated-headers): sigaction is POSIX
#include <unistd.h>

#include "base/json.h"
#include "base/utf8.h"
#include "cli/answer.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "cli/model_session.h"

namespace firebrick {
namespace {

struct RunOptions {
  ModelOptions model;
  EngineOptions engine;
  std::optional<std::string> prompt;
  std::optional<std::string> system;
  int32_t max_tokens = 0;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<double> min_p;
  std::optional<uint64_t> top_k;
  std::optional<uint64_t> seed;
  bool json = false;
  bool raw = false;
};

// Set by Ctrl-C; cleared by whoever acts on it. A signal handler may write nothing larger.
volatile std::sig_atomic_t g_interrupted = 0;

void OnInterrupt(int) { g_interrupted = 1; }

// Ctrl-C ends the answer, not the program; a blocking read of a line returns.
void CatchInterrupts() {
  struct sigaction action {};
  action.sa_handler = OnInterrupt;
  sigaction(SIGINT, &action, nullptr);
}

bool WasInterrupted() { return g_interrupted != 0; }

GenerateRequest MakeRequest(const RunOptions& options, const ModelSession& session,
                            std::vector<int32_t> prompt) {
  const GenerationDefaults& defaults = session.loaded.model->config().generation;
  GenerateRequest request;
  SamplingParams& sampling = request.sampling;
  const auto choose = [](const std::optional<double>& flag, const std::optional<float>& model,
                         float otherwise) {
    return flag.has_value() ? static_cast<float>(*flag) : model.value_or(otherwise);
  };
  sampling.temperature = choose(options.temperature, defaults.temperature, 1.0F);
  sampling.top_p = choose(options.top_p, defaults.top_p, 1.0F);
  sampling.min_p = choose(options.min_p, defaults.min_p, 0.0F);
  sampling.top_k = options.top_k.has_value()
                       ? static_cast<int32_t>(std::min<uint64_t>(*options.top_k, INT32_MAX))
                       : defaults.top_k.value_or(0);
  sampling.repetition_penalty = defaults.repetition_penalty.value_or(1.0F);
  sampling.seed = options.seed.value_or(std::random_device{}());
  const int32_t room = session.engine->max_model_len() - static_cast<int32_t>(prompt.size());
  request.stop.max_tokens = options.max_tokens > 0 ? options.max_tokens : std::max(1, room);
  request.stop.stop_token_ids = session.loaded.end_ids;
  request.prompt = std::move(prompt);
  return request;
}

std::string_view FinishName(FinishReason reason) {
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

double PerSecond(int32_t count, double milliseconds) {
  return milliseconds > 0 ? count * 1000.0 / milliseconds : 0.0;
}

Json ToJson(const Answer& answer) {
  const Usage& usage = answer.usage;
  const Timings& timings = answer.timings;
  Json json;
  json["text"] = answer.text;
  json["token_ids"] = answer.token_ids;
  json["finish_reason"] = FinishName(answer.finish);
  json["usage"] = {{"prompt_tokens", usage.prompt_tokens},
                   {"completion_tokens", usage.completion_tokens},
                   {"total_tokens", usage.prompt_tokens + usage.completion_tokens},
                   {"prompt_tokens_details", {{"cached_tokens", usage.cached_tokens}}}};
  json["timings"] = {
      {"queue_ms", timings.queue_ms},
      {"prefill_ms", timings.prefill_ms},
      {"decode_ms", timings.decode_ms},
      {"prefill_per_second", PerSecond(usage.prompt_tokens - usage.cached_tokens, timings.prefill_ms)},
      {"decode_per_second", PerSecond(usage.completion_tokens - 1, timings.decode_ms)},
      {"num_preemptions", timings.num_preemptions}};
  return json;
}

void PrintText(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

Json Message(std::string_view role, const std::string& content) {
  return {{"role", role}, {"content", content}};
}

Json FirstMessages(const RunOptions& options) {
  Json messages = Json::array();
  if (options.system.has_value()) messages.push_back(Message("system", *options.system));
  return messages;
}

Status RequireUtf8(const std::string& text) {
  const size_t at = FindInvalidUtf8(text);
  if (at == kUtf8Valid) return OkStatus();
  return InvalidArgument("the text is not valid UTF-8 at byte {}", at);
}

// One prompt, one answer.
Status AnswerOnce(const RunOptions& options, ModelSession& session) {
  std::vector<int32_t> prompt;
  if (options.raw) {
    ASSIGN_OR_RETURN(prompt,
                     session.loaded.tokenizer.Encode(*options.prompt, SpecialTokens::kRecognise, true));
  } else {
    Json messages = FirstMessages(options);
    messages.push_back(Message("user", *options.prompt));
    ASSIGN_OR_RETURN(prompt, EncodeMessages(session.loaded, messages));
  }
  const OnText on_text = options.json ? OnText([](std::string_view) {}) : OnText(PrintText);
  ASSIGN_OR_RETURN(const Answer answer,
                   GenerateAnswer(*session.engine, MakeRequest(options, session, std::move(prompt)), on_text,
                                  WasInterrupted));
  PrintText(options.json ? ToJson(answer).dump() + "\n" : "\n");
  if (answer.finish == FinishReason::kCancelled) return Status(StatusCode::kCancelled, "interrupted");
  return OkStatus();
}

// Reads a line; false at the end of the input. An interrupt gives an empty line.
bool ReadLine(bool terminal, std::string* line) {
  if (terminal) PrintText("> ");
  g_interrupted = 0;
  line->clear();
  if (std::getline(std::cin, *line)) return true;
  if (!WasInterrupted()) return false;
  std::cin.clear();
  clearerr(stdin);
  PrintText("\n");
  return true;
}

Status AnswerTurn(const RunOptions& options, ModelSession& session, const std::string& line, Json* messages) {
  RETURN_IF_ERROR(RequireUtf8(line));
  Json with_question = *messages;
  with_question.push_back(Message("user", line));
  ASSIGN_OR_RETURN(std::vector<int32_t> prompt, EncodeMessages(session.loaded, with_question));
  ASSIGN_OR_RETURN(const Answer answer,
                   GenerateAnswer(*session.engine, MakeRequest(options, session, std::move(prompt)),
                                  PrintText, WasInterrupted));
  PrintText(answer.finish == FinishReason::kCancelled ? "\n(interrupted)\n" : "\n");
  with_question.push_back(Message("assistant", answer.text));
  *messages = std::move(with_question);
  return OkStatus();
}

// Question and answer until the input ends. A turn that fails leaves the history as it was.
Status Chat(const RunOptions& options, ModelSession& session) {
  const bool terminal = isatty(STDIN_FILENO) == 1;
  if (terminal) {
    PrintText(fmt::format(
        "{}, {} tokens of context. /clear forgets, /exit or Ctrl-D ends, Ctrl-C stops an answer.\n",
        session.loaded.name, session.engine->max_model_len()));
  }
  Json messages = FirstMessages(options);
  std::string line;
  while (ReadLine(terminal, &line)) {
    if (line.empty()) continue;
    if (line == "/exit") break;
    if (line == "/clear") {
      messages = FirstMessages(options);
      continue;
    }
    Status status = AnswerTurn(options, session, line, &messages);
    if (status.ok()) continue;
    if (!terminal) return status;
    PrintText(fmt::format("{}\n", status.message()));
  }
  return OkStatus();
}

Status RunRun(const RunOptions& options) {
  if (!options.prompt.has_value() && (options.raw || options.json)) {
    return InvalidArgument("{} needs -p TEXT", options.raw ? "--raw" : "--json");
  }
  for (const auto* text : {&options.prompt, &options.system}) {
    if (text->has_value()) RETURN_IF_ERROR(RequireUtf8(**text));
  }
  ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(options.model, options.prompt.has_value()));
  if (!options.raw && !loaded.chat_template.has_value()) {
    return EncodeMessages(loaded, Json::array()).status();
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<ModelSession> session,
                   StartSession(std::move(loaded), options.engine, {}));
  CatchInterrupts();
  return options.prompt.has_value() ? AnswerOnce(options, *session) : Chat(options, *session);
}

}  // namespace

CommandAction DeclareRun(FlagSet* flags) {
  auto options = std::make_shared<RunOptions>();
  options->engine.max_num_seqs.value = 1;
  flags->Text("-p,--prompt", "TEXT", "Answer TEXT and end; without it, chat until Ctrl-D", &options->prompt);
  flags->Text("--system", "TEXT", "System message", &options->system);
  flags->Integer("--max-tokens", "N", "Longest answer in tokens; otherwise until the context is full",
                 &options->max_tokens, 1);
  flags->Real("--temperature", "T", "0 is greedy; otherwise the model's default, or 1", &options->temperature,
              0, 100);
  flags->Real("--top-p", "P", "Only the most probable tokens that together reach P", &options->top_p, 1e-6,
              1);
  flags->Real("--min-p", "P", "Only tokens of P times the best one's probability", &options->min_p, 0, 1);
  flags->Unsigned("--top-k", "K", "Only the K most probable tokens; 0 is off", &options->top_k);
  flags->Unsigned("--seed", "N", "Repeatable draws; otherwise different each time", &options->seed);
  flags->Switch("--raw", "Continue the text of -p without the chat template", &options->raw);
  flags->Switch("--json", "Print one object: text, token_ids, finish_reason, usage, timings", &options->json);
  AddModelFlags(&options->model, flags);
  AddContextFlags(&options->engine, flags);
  flags->Example("firebrick run -p 'Why is the sky blue?' --max-tokens 64 --temperature 0");
  return [options] { return RunRun(*options); };
}

}  // namespace firebrick
