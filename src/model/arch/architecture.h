// Architecture: what one family of models says about its checkpoints. One file per family in this folder
// declares a constant of this type; registry.cc lists them. Thread: constants.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "model/config_fields.h"
#include "model/model_config.h"

namespace firebrick {

struct Architecture {
  std::string_view name;                             // ours, and the one in ModelConfig
  std::span<const std::string_view> hf_model_types;  // config.json "model_type"
  std::span<const std::string_view> gguf_names;      // "general.architecture"
  // The rows of q and k lie in adjacent-pair order in GGUF files, per head (0, d/2, 1, d/2 + 1, ...).
  bool gguf_permutes_qk = false;
  // Tensors of a Hugging Face checkpoint that this engine has no use for, by prefix (a vision tower).
  std::span<const std::string_view> hf_ignored_prefixes = {};
  // Fills config from the fields; faults go to fields.Fail.
  void (*parse_hf)(JsonFields& fields, ModelConfig& config);
  void (*parse_gguf)(GgufFields& fields, ModelConfig& config);
};

// All families, in the order of arch/.
std::span<const Architecture* const> Architectures();
// nullptr where no family knows the name.
const Architecture* FindArchitecture(CheckpointKind kind, std::string_view name);

}  // namespace firebrick
