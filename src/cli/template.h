// `firebrick template`: chat requests to prompts.
#pragma once

#include <cstdint>
#include <istream>
#include <optional>
#include <ostream>
#include <string>

#include "base/status.h"

namespace firebrick {

struct TemplateOptions {
  std::string model;             // a .jinja file; else a .gguf file or a model folder
  std::string name;              // of several templates, for instance tool_use
  bool jsonl = false;            // in: one request a line; out: one JSON string or {"error": …} a line.
                                 // Else all of the input is one request, and the prompt comes out as it is
  bool spans = false;            // out: a list of {"text": …, "allow_special": …} instead of the string
  std::optional<int64_t> clock;  // seconds since 1970, for strftime_now
};

// A request: messages, tools, add_generation_prompt (left out: false, as in transformers), bos_token and
// eos_token (left out: the model's), chat_template_kwargs. A request that fails is an error of its line, not
// of the command.
Status TemplateCommand(const TemplateOptions& options, std::istream& in, std::ostream& out);

}  // namespace firebrick
