// links: fb_text fb_base
// Chat templates come with model files that nobody vouches for: any bytes are parsed and, where they parse,
// rendered with a fixed request under tight limits. Output must be valid UTF-8 and its spans must alternate.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"
#include "text/chat_template.h"

namespace {

firebrick::ChatTemplate::Request MakeRequest() {
  firebrick::ChatTemplate::Request request;
  request.messages = firebrick::Json::parse(R"([
    {"role": "system", "content": "Be brief. <|eot|>"},
    {"role": "user", "content": [{"type": "text", "text": "Größe ΑΣ ﬁ \u0000\n x"}, {"type": "image"}]},
    {"role": "assistant", "content": null, "tool_calls": [{"id": "c1", "type": "function",
      "function": {"name": "f", "arguments": {"a": 1, "b": [1.5, true, null]}}}]},
    {"role": "tool", "tool_call_id": "c1", "content": "{}"}])");
  request.tools = firebrick::Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters":
    {"type": "object", "properties": {"a": {"type": "integer"}}}}}])");
  request.bos_token = "<s>";
  request.eos_token = "</s>";
  request.extra =
      firebrick::Json::parse(R"({"s": "abc", "n": 3, "f": 0.5, "l": [3, 1, 2], "d": {"k": "v"}})");
  request.clock = 1741064767;
  request.limits.max_steps = 100'000;
  request.limits.max_memory_bytes = 8 << 20;
  request.limits.max_output_bytes = 1 << 20;
  request.limits.max_depth = 300;
  return request;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const firebrick::ChatTemplate::Request request = MakeRequest();
  const auto parsed =
      firebrick::ChatTemplate::Parse(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!parsed.ok()) return 0;
  const auto prompt = parsed->Render(request);
  if (!prompt.ok()) return 0;
  bool last = false;
  for (size_t i = 0; i < prompt->spans.size(); ++i) {
    const auto& span = prompt->spans[i];
    if (span.text.empty() || (i > 0 && span.allow_special == last)) std::abort();
    last = span.allow_special;
  }
  if (!firebrick::IsValidUtf8(prompt->Text())) std::abort();
  return 0;
}
