// Readers of the small components of tokenizer.json and tokenizer_config.json. A type or an option that is
// not implemented is refused by name: leaving it out would change tokens. Thread: any.
#pragma once

#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "text/tokenizer_spec.h"

namespace firebrick {

// A whole tokenizer.json, without bos and eos, which other files name.
Result<TokenizerSpec> ReadTokenizerJson(std::string_view json);

// Adds the tokens to the vocabulary too; a token whose text is there already has the id that it has there.
Status ReadAddedTokens(const Json& json, TokenizerSpec* spec);
Status ReadNormalizer(const Json& json, std::vector<NormalizerStep>* steps);
// Sets bpe.byte_level where the ByteLevel step stands.
Status ReadPreTokenizer(const Json& json, TokenizerSpec* spec);
// prefix_ids and suffix_ids of one sequence.
Status ReadPostProcessor(const Json& json, TokenizerSpec* spec);
Status ReadDecoder(const Json& json, DecoderOptions* options);
// bos, eos; and BOS as a prefix where the config asks for one and the post-processor adds nothing.
Status ReadTokenizerConfig(const Json& config, TokenizerSpec* spec);

}  // namespace firebrick
