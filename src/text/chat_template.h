// Chat templates: renders messages into a prompt with the template that came with the model.
// The template is untrusted code (a sandboxed Jinja subset, bounded in steps, memory, depth, output and
// time); the messages are untrusted text. Every byte of the result is marked with who wrote it, so that text
// of a user can never become a control token. Language and limits: docs/contracts/chat_template.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace firebrick {

// A prompt cut by author. Only where `allow_special` is true (the template's own text) may a control token be
// recognised, and only inside one span; a look-alike in, or reaching into, any other span is plain text. The
// cuts are no borders for anything else: plain text tokenises as if the spans were one string.
struct RenderedPrompt {
  struct Span {
    std::string text;
    bool allow_special = false;
    friend bool operator==(const Span&, const Span&) = default;
  };
  std::vector<Span> spans;  // none empty; neighbours differ in allow_special
  std::string Text() const;
};

// What one rendering may use. Exceeding any of them fails the rendering with kResourceExhausted
// (kDeadlineExceeded for time).
struct TemplateLimits {
  uint64_t max_steps = 50'000'000;         // evaluated nodes, loop turns, and 64-byte pieces of text touched
  size_t max_memory_bytes = 512ULL << 20;  // alive at once in values
  size_t max_output_bytes = 128ULL << 20;
  int max_depth = 600;  // nested evaluations, macro calls included
  std::chrono::milliseconds max_time{10'000};
};

// A parsed template. Const after Parse; any thread, many at once.
class ChatTemplate {
 public:
  // Fails with kInvalidArgument (syntax, with the line) or kUnimplemented (a statement outside of the
  // subset).
  static Result<ChatTemplate> Parse(std::string_view source);

  struct Request {
    Json messages;  // list of objects; strings are user text, but for a `role` of the known ones
    Json tools;     // list, or null where there are none (the name is then undefined in the template)
    bool add_generation_prompt = true;
    std::string bos_token, eos_token;  // the template's own text
    Json extra;                        // object or null: chat_template_kwargs, further names; user text
    std::optional<int64_t> clock;      // seconds since 1970 for strftime_now; now where absent
    TemplateLimits limits;
  };
  // Fails where the template raises, reads what is not there, or exceeds a limit; the message is fit for a
  // client.
  Result<RenderedPrompt> Render(const Request& request) const;

  ChatTemplate(ChatTemplate&&) noexcept;
  ChatTemplate& operator=(ChatTemplate&&) noexcept;
  ~ChatTemplate();

 private:
  struct Program;
  explicit ChatTemplate(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program_;
};

}  // namespace firebrick
