// The vocabulary of a GGUF file as a TokenizerSpec. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/tokenizer_spec.h"

namespace firebrick {

class Checkpoint;

// The keys tokenizer.ggml.*; absent ones keep their defaults.
struct GgufVocabulary {
  std::string model;  // "gpt2": byte-level BPE; "llama": SentencePiece with scores
  std::string pre;    // names the pre-tokenizer, whose expression is not in the file
  std::vector<std::string> tokens;
  std::vector<double> scores;
  std::vector<int64_t> token_types;  // GgufTokenType
  std::vector<std::string> merges;
  std::optional<int64_t> bos_id, eos_id, eot_id, eom_id, unk_id;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

enum class GgufTokenType : int64_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,
  kUserDefined = 4,
  kUnused = 5,
  kByte = 6,
};

// What a name in tokenizer.ggml.pre stands for.
struct GgufPreTokenizer {
  std::vector<std::string_view> regexes;  // applied one after another, each isolating its matches
  bool ignore_merges = false;
  bool add_bos = false;  // where the file does not say
  bool nfc = false;
};
// nullopt where the name is not known.
std::optional<GgufPreTokenizer> FindGgufPreTokenizer(std::string_view name);

GgufVocabulary ReadGgufVocabulary(const Checkpoint& checkpoint);
// kUnimplemented where the model or the pre-tokenizer is not known, by name.
Result<TokenizerSpec> SpecOfGguf(const GgufVocabulary& vocabulary);

}  // namespace firebrick
