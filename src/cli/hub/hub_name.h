// Names on a model hub: what a person writes, and which files it means. Names of files come from the hub and
// are not trusted. Thread: any.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firebrick {

// ORG/NAME, ORG/NAME:FILE.gguf or ORG/NAME:QUANT ("Q4_K_M").
struct HubName {
  std::string repo;      // "ORG/NAME"
  std::string selector;  // of GGUF files; empty: the whole model
};
Result<HubName> ParseHubName(std::string_view text);
bool LooksLikeHubName(std::string_view text);

// "models--ORG--NAME", the folder of a model in the hub cache.
std::string HubFolderName(std::string_view repo);

// A relative path below a folder: no empty, "." or ".." part, no backslash, no control character.
bool IsSafeHubPath(std::string_view path);

// Which of the model's files to have. `include` are shell patterns, matched against the whole path and
// against the last part; they win over all else. A selector means GGUF files of that name or quantisation,
// all parts of a split one. Else: safetensors weights, JSON files, tokenizer and templates. kNotFound, with
// what there is, where nothing matches; kInvalidArgument where a selector means several.
Result<std::vector<std::string>> SelectHubFiles(const std::vector<std::string>& files,
                                                std::string_view selector,
                                                const std::vector<std::string>& include);

}  // namespace firebrick
