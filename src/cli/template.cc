#include "cli/template.h"

#include <iostream>
#include <iterator>
#include <memory>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "text/chat_template.h"
#include "text/template_source.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxTemplateFileBytes = 4 << 20;

Result<TemplateSource> ReadSource(const TemplateOptions& options) {
  if (!options.model.ends_with(".jinja")) {
    ASSIGN_OR_RETURN(const std::string path, ResolveModelPath(options.model));
    // A folder with a template but without weights is enough.
    if (Result<TemplateSource> found = FindTemplateInFolder(path, options.name); found.ok()) return found;
    ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
    return FindTemplate(checkpoint, options.name);
  }
  TemplateSource source;
  source.origin = options.model;
  ASSIGN_OR_RETURN(source.text, ReadFile(options.model, kMaxTemplateFileBytes));
  return source;
}

Status ReadToken(const Json& json, const char* key, const std::optional<std::string>& otherwise,
                 std::string* token) {
  const auto found = json.find(key);
  if (found == json.end() || found->is_null()) {
    *token = otherwise.value_or("");
    return OkStatus();
  }
  if (!found->is_string()) return InvalidArgument("{} is not a string", key);
  *token = found->get<std::string>();
  return OkStatus();
}

Result<ChatTemplate::Request> ReadRequest(std::string_view text, const TemplateSource& source,
                                          const TemplateOptions& options) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(text));
  if (!json.is_object()) return InvalidArgument("the request is not a JSON object");
  ChatTemplate::Request request;
  request.clock = options.clock;
  request.messages = json.value("messages", Json());
  request.extra = json.value("chat_template_kwargs", Json());
  if (!request.extra.is_null() && !request.extra.is_object()) {
    return InvalidArgument("chat_template_kwargs is not an object");
  }
  if (const auto tools = json.find("tools"); tools != json.end()) {
    request.tools = *tools;
    // An explicit null is Python's None, where a missing key leaves the name undefined.
    if (tools->is_null() && !request.extra.contains("tools")) request.extra["tools"] = nullptr;
  }
  const Json generate = json.value("add_generation_prompt", Json(false));
  if (!generate.is_boolean()) return InvalidArgument("add_generation_prompt is not true or false");
  request.add_generation_prompt = generate.get<bool>();
  RETURN_IF_ERROR(ReadToken(json, "bos_token", source.bos_token, &request.bos_token));
  RETURN_IF_ERROR(ReadToken(json, "eos_token", source.eos_token, &request.eos_token));
  return request;
}

std::string ToJsonText(const RenderedPrompt& prompt, bool spans) {
  std::string out;
  if (!spans) {
    AppendJsonString(prompt.Text(), &out);
    return out;
  }
  for (const RenderedPrompt::Span& span : prompt.spans) {
    out += out.empty() ? "[" : ", ";
    out += "{\"text\": ";
    AppendJsonString(span.text, &out);
    out += span.allow_special ? ", \"allow_special\": true}" : ", \"allow_special\": false}";
  }
  return out.empty() ? "[]" : out + "]";
}

class TemplateRunner {
 public:
  TemplateRunner(const TemplateOptions& options, TemplateSource source, ChatTemplate chat_template)
      : options_(options), source_(std::move(source)), template_(std::move(chat_template)) {}

  Result<RenderedPrompt> Render(std::string_view request_text) const {
    ASSIGN_OR_RETURN(const ChatTemplate::Request request, ReadRequest(request_text, source_, options_));
    return template_.Render(request);
  }

  void RunLines(std::istream& in, std::ostream& out) const {
    std::string line;
    while (std::getline(in, line)) {
      if (line.empty()) continue;
      const Result<RenderedPrompt> prompt = Render(line);
      if (prompt.ok()) {
        out << ToJsonText(*prompt, options_.spans) << '\n';
        continue;
      }
      std::string error = "{\"error\": ";
      AppendJsonString(prompt.status().message(), &error);
      out << error << "}\n";
    }
    out.flush();
  }

  Status RunWhole(std::istream& in, std::ostream& out) const {
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    ASSIGN_OR_RETURN(const RenderedPrompt prompt, Render(text));
    out << (options_.spans ? ToJsonText(prompt, true) + "\n" : prompt.Text()) << std::flush;
    return OkStatus();
  }

 private:
  const TemplateOptions& options_;
  TemplateSource source_;
  ChatTemplate template_;
};

}  // namespace

Status TemplateCommand(const TemplateOptions& options, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(TemplateSource source, ReadSource(options));
  Result<ChatTemplate> parsed = ChatTemplate::Parse(source.text);
  if (!parsed.ok()) return parsed.status().WithContext(source.origin);
  const TemplateRunner runner(options, std::move(source), std::move(parsed).value());
  if (!options.jsonl) return runner.RunWhole(in, out);
  runner.RunLines(in, out);
  return OkStatus();
}

CommandAction DeclareTemplate(FlagSet* flags) {
  struct Flags {
    TemplateOptions options;
    std::optional<uint64_t> clock;
  };
  auto given = std::make_shared<Flags>();
  TemplateOptions& options = given->options;
  flags->Positional("MODEL",
                    "A .jinja file, or a model: file, folder or hub name; left out: the default model",
                    &options.model);
  flags->Switch("--jsonl", "One request a line; prompts as JSON strings, errors as {\"error\": ...}",
                &options.jsonl);
  flags->Switch("--spans", "Show which text is the template's and which is the user's", &options.spans);
  flags->Text("--name", "NAME", "Which of several templates, for instance tool_use", &options.name);
  flags->Unsigned("--clock", "SECONDS", "Time for strftime_now, in seconds since 1970; left out: now",
                  &given->clock);
  flags->Example("firebrick template model.gguf < request.json");
  return [given]() -> Status {
    TemplateOptions& run = given->options;
    if (given->clock.has_value()) run.clock = static_cast<int64_t>(*given->clock);
    return TemplateCommand(run, std::cin, std::cout);
  };
}

}  // namespace firebrick
