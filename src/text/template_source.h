// Which chat template a model brings, and the tokens that it names. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

struct TemplateSource {
  std::string text;  // Jinja
  std::string
      origin;  // where it was found, for messages: "chat_template.jinja", "tokenizer.chat_template", …
  std::optional<std::string> bos_token,
      eos_token;  // as tokenizer_config.json or the GGUF vocabulary names them
};

// Looks, in this order, at chat_template.jinja (or additional_chat_templates/NAME.jinja), chat_template.json,
// tokenizer_config.json (a string, or a list of named templates) in the folder. `name` picks one of several
// ("tool_use"); where it is empty or absent in the model the one called "default" is taken. kNotFound, with
// the remedy, where the model has none (a base model).
Result<TemplateSource> FindTemplateInFolder(const std::string& folder, std::string_view name = {});

// The same for any model: GGUF keys tokenizer.chat_template and tokenizer.chat_template.NAME, or the folder.
Result<TemplateSource> FindTemplate(const Checkpoint& checkpoint, std::string_view name = {});

}  // namespace firebrick
