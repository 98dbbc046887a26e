// What the server needs to know of the model that it serves. Const while serving; thread: any.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model_config.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace firebrick {

struct ServedModel {
  std::vector<std::string> names;  // at least one; the first is the one that answers carry
  int64_t created = 0;             // seconds since 1970
  std::string fingerprint;         // system_fingerprint: changes whenever outputs might
  int32_t max_model_len = 0;       // tokens of prompt and output together
  int32_t vocab_size = 0;          // width of the logits: token ids lie below it
  std::vector<int32_t> end_ids;    // end an answer unless the caller ignores them
  GenerationDefaults defaults;     // for fields that a request leaves out

  const Tokenizer* tokenizer = nullptr;         // outlives the server
  const ChatTemplate* chat_template = nullptr;  // null: a base model
  std::string bos_token;                        // as the template writes them
  std::string eos_token;
};

}  // namespace firebrick
