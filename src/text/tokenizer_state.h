// Private to the room: the built parts of a Tokenizer. Thread: const after FromSpec; any.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/tokenizer_spec.h"

namespace firebrick {

struct TokenizerState {
  Vocabulary vocabulary;
  BpeModel bpe;
  AddedTokenTrie raw_tokens;         // looked for in the text as it comes
  AddedTokenTrie normalized_tokens;  // looked for after normalisation
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  TokenDecoder decoder;
  std::vector<bool> special;  // by id
  std::vector<int32_t> prefix_ids, suffix_ids, end_ids;
  std::optional<int32_t> bos_id, eos_id;

  bool IsSpecial(int32_t id) const {
    return id >= 0 && static_cast<size_t>(id) < special.size() && special[static_cast<size_t>(id)];
  }
};

}  // namespace firebrick
