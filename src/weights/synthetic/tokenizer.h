// The tokenizer that a synthetic model carries: one that we generate, so that a model needs no download, or a
// copy of a given tokenizer.json. Thread: any; pure functions apart from reading files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "weights/file_layout.h"

namespace firebrick {

// What both file formats are written from.
struct TokenizerFiles {
  GgufMetadata gguf;  // tokenizer.* keys
  std::string tokenizer_json;
  std::string tokenizer_config_json;
  std::string chat_template_jinja;  // empty: the template, if any, is in tokenizer_config_json
  int32_t bos_id = 0;
  int32_t eos_id = 0;
};

// A byte-level BPE of exactly `vocab` tokens (at least 260): 256 bytes, 4 control tokens (<|bos|>,
// <|im_start|>,
// <|im_end|>, <|pad|>), then invented words (" ka", " kalo") that merges build letter by letter. ChatML
// template.
TokenizerFiles MakeSyntheticTokenizer(int64_t vocab);

// Takes tokenizer.json (a file, or in a folder with tokenizer_config.json and chat_template.jinja beside it).
// Fails where it has more tokens than `vocab`; ids above its own become unused tokens in GGUF.
Result<TokenizerFiles> CopyTokenizer(const std::string& path, int64_t vocab);

}  // namespace firebrick
