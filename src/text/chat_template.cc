#include "text/chat_template.h"

#include <ctime>
#include <new>
#include <stdexcept>

#include "base/utf8.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/json_value.h"
#include "text/jinja/parser.h"

namespace firebrick {

struct ChatTemplate::Program {
  jinja::Program program;
};

namespace {

// Runs `body`, and turns what it throws into a Status: no exception leaves this room.
template <typename Body>
auto Guard(std::string_view doing, Body body) -> decltype(body()) {
  try {
    return body();
  } catch (const jinja::Failure& failure) {
    return Status(failure.code, fmt::format("{}: {}", doing, failure.message));
  } catch (const std::bad_alloc&) {
    return Status(StatusCode::kResourceExhausted, fmt::format("{}: out of memory", doing));
  } catch (const std::length_error&) {
    return Status(StatusCode::kResourceExhausted, fmt::format("{}: a value grows too large", doing));
  }
}

// The value of a name that the request provides; nothing for any other.
std::optional<jinja::Value> ProvidedValue(jinja::Context& context, const ChatTemplate::Request& request,
                                          const std::string& name) {
  if (request.extra.is_object()) {
    if (const auto found = request.extra.find(name); found != request.extra.end()) {
      return jinja::FromJson(context, *found);
    }
  }
  if (name == "messages" && !request.messages.is_null())
    return jinja::FromMessages(context, request.messages);
  if (name == "tools" && !request.tools.is_null()) return jinja::FromJson(context, request.tools);
  if (name == "add_generation_prompt") return jinja::Value::Of(request.add_generation_prompt);
  if (name == "bos_token") return context.Str(request.bos_token);
  if (name == "eos_token") return context.Str(request.eos_token);
  return std::nullopt;
}

RenderedPrompt ToPrompt(const jinja::TextBuilder& text) {
  RenderedPrompt prompt;
  size_t begin = 0;
  for (const jinja::Run& run : text.runs()) {
    prompt.spans.push_back({std::string(text.bytes().substr(begin, run.end - begin)), !run.user});
    begin = run.end;
  }
  return prompt;
}

}  // namespace

std::string RenderedPrompt::Text() const {
  std::string text;
  for (const Span& span : spans) text += span.text;
  return text;
}

ChatTemplate::ChatTemplate(std::unique_ptr<const Program> program) : program_(std::move(program)) {}
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;
ChatTemplate& ChatTemplate::operator=(ChatTemplate&&) noexcept = default;
ChatTemplate::~ChatTemplate() = default;

Result<ChatTemplate> ChatTemplate::Parse(std::string_view source) {
  if (const size_t bad = FindInvalidUtf8(source); bad != kUtf8Valid) {
    return InvalidArgument("the chat template is not valid UTF-8 at byte {}", bad);
  }
  return Guard("the chat template does not parse", [source]() -> Result<ChatTemplate> {
    return ChatTemplate(std::make_unique<const Program>(Program{jinja::ParseProgram(source)}));
  });
}

Result<RenderedPrompt> ChatTemplate::Render(const Request& request) const {
  const jinja::Program& program = program_->program;
  return Guard("the chat template does not render", [&]() -> Result<RenderedPrompt> {
    jinja::Context context(request.limits, request.clock.value_or(std::time(nullptr)));
    jinja::TextBuilder out(&context.budget(), request.limits.max_output_bytes);
    jinja::Interpreter interpreter(program, context, &out);
    for (size_t i = 0; i < program.names.size(); ++i) {
      std::optional<jinja::Value> value = ProvidedValue(context, request, program.names[i]);
      if (value.has_value()) interpreter.Provide(static_cast<int>(i), *std::move(value));
    }
    interpreter.Run();
    return ToPrompt(out);
  });
}

}  // namespace firebrick
