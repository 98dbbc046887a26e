// Turns the tokens of one sequence into text as they come. Thread: owned by one thread at a time.
#pragma once

#include <cstdint>
#include <string>

namespace firebrick {

class Tokenizer;
struct TokenizerState;

// Text comes out when it is certain: never half a character, and what Push and Flush return, put together, is
// Decode(all ids, skip_special). A byte sequence that can never become a character is replaced by U+FFFD at
// once; a beginning of a character waits. With byte-fallback vocabularies (SentencePiece) a run of byte
// tokens waits for its end, because its last byte decides how all of it is decoded. The cost of a token does
// not grow with the length of the text.
class Detokenizer {
 public:
  // `tokenizer` outlives the detokenizer.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special);
  // The text that this token makes certain; often empty. Ids outside of the vocabulary add nothing.
  std::string Push(int32_t id);
  // The end of the sequence: what waited, with U+FFFD for unfinished characters.
  std::string Flush();

 private:
  void Append(std::string_view text, std::string* out);
  void AppendBytes(std::string_view bytes, std::string* out);
  void EndByteRun(std::string* out);

  const TokenizerState* state_;
  bool skip_special_;
  bool first_token_ = true;  // no token was decoded yet
  size_t strip_left_ = 0;    // leading characters that may still be stripped
  std::string pending_;      // bytes that are no text yet
};

}  // namespace firebrick
