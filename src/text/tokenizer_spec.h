// What a tokenizer is made of, whatever file it came from: the seam between the readers and the Tokenizer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/normalizer.h"
#include "text/pre_tokenizer.h"
#include "text/token_decoder.h"
#include "text/vocabulary.h"

namespace firebrick {

struct TokenizerSpec {
  Vocabulary vocabulary;  // with the added tokens
  std::vector<Merge> merges;
  BpeOptions bpe;
  std::vector<AddedToken> added_tokens;
  std::vector<NormalizerStep> normalizer;
  std::vector<PreTokenizerStep> pre_tokenizer;
  DecoderOptions decoder;
  std::vector<int32_t> prefix_ids;  // with add_special: before and behind the text
  std::vector<int32_t> suffix_ids;
  std::optional<int32_t> bos_id;
  std::optional<int32_t> eos_id;
  std::vector<int32_t> end_ids;
};

}  // namespace firebrick
