// Text to token ids and back, for tokenizer.json files (Hugging Face) and GGUF vocabularies: byte-level BPE
// and SentencePiece-style BPE with byte fallback. What a model file asks for and we do not implement is
// refused by name at load. Contract: docs/contracts/text.md. Thread: const after load; any thread, many at
// once. Loading is done by one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"

namespace firebrick {

class Checkpoint;
struct TokenizerSpec;   // text/tokenizer_spec.h: the same facts from any file format
struct TokenizerState;  // private to the room

// A piece of a prompt with its author. Spans are no borders: the whole prompt is encoded as one text. Only
// where allow_special is true (the template's own text) is a control token recognised, and only if it lies
// wholly in neighbouring spans that allow it.
struct TextSpan {
  std::string_view text;  // valid UTF-8
  bool allow_special = false;
};

// What to do with look-alikes of special tokens in one plain text.
enum class SpecialTokens : uint8_t {
  kRecognise,  // a template's text, or a raw prompt whose author may write control tokens
  kUserText,  // no control token: neither a special one, nor one shaped like <|…|> that the file calls normal
  kAsText,    // special ones stay text, all other added tokens are recognised: encode_special_tokens of HF
};

class Tokenizer {
 public:
  // From the text of tokenizer.json. `config` (tokenizer_config.json) names bos and eos; it may be null.
  static Result<Tokenizer> FromJson(std::string_view tokenizer_json, const Json* config);
  // From the keys tokenizer.ggml.* of a GGUF file; tokenizer.huggingface.json wins where the file has it.
  static Result<Tokenizer> FromGguf(const Checkpoint& checkpoint);
  // A .gguf file, a folder (tokenizer.json beside tokenizer_config.json, or a GGUF in it), or a
  // tokenizer.json.
  static Result<Tokenizer> Open(const std::string& path);
  // The seam below the file formats.
  static Result<Tokenizer> FromSpec(TokenizerSpec spec);

  Tokenizer(Tokenizer&& other) noexcept;
  Tokenizer& operator=(Tokenizer&& other) noexcept;
  ~Tokenizer();

  // Encodes a prompt of marked spans. add_special: BOS and EOS as the file's post-processor adds them; leave
  // it off for rendered templates, which write their own BOS. O(n log n) for any text. Fails with
  // kInvalidArgument on invalid UTF-8 (with the byte offset), kResourceExhausted above 256 MiB of text or
  // where a regular expression that came with the model exceeds its limits.
  Result<std::vector<int32_t>> Encode(std::span<const TextSpan> spans, bool add_special) const;
  Result<std::vector<int32_t>> Encode(std::string_view text, SpecialTokens special, bool add_special) const;

  // The text of a sequence, as decode(ids, skip_special_tokens) of HF without clean-up. Bytes that are no
  // UTF-8 become U+FFFD. Ids outside of the vocabulary add nothing.
  std::string Decode(std::span<const int32_t> ids, bool skip_special) const;
  // The raw bytes that a token stands for (logprobs): never replaced, perhaps no UTF-8. Empty outside of the
  // vocabulary.
  std::string TokenBytes(int32_t id) const;

  int32_t vocab_size() const;  // highest id + 1; the logits of a model may be wider (padding)
  std::optional<int32_t> bos_id() const;
  std::optional<int32_t> eos_id() const;
  // Ids that end a turn, by the file's own word: eos, and eot and eom of GGUF. generation_config.json may
  // name more.
  std::span<const int32_t> end_ids() const;
  bool IsSpecial(int32_t id) const;  // what skip_special drops
  // The id of a token by the text that the vocabulary file writes ("<|im_end|>", "Ġthe").
  std::optional<int32_t> FindToken(std::string_view text) const;
  // The text of a token as the vocabulary file writes it; empty outside of the vocabulary.
  std::string_view TokenText(int32_t id) const;

 private:
  friend class Detokenizer;
  explicit Tokenizer(std::unique_ptr<const TokenizerState> state);
  std::unique_ptr<const TokenizerState> state_;
};

}  // namespace firebrick
