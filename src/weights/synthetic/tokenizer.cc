#include "weights/synthetic/tokenizer.h"

#include <array>
#include <string_view>

#include "base/json.h"
#include "base/utf8.h"

namespace firebrick {
namespace {

constexpr std::string_view kSpecials[] = {"<|bos|>", "<|im_start|>", "<|im_end|>", "<|pad|>"};
constexpr int32_t kFirstSpecial = 256;
constexpr int32_t kBos = kFirstSpecial;
constexpr int32_t kEos = kFirstSpecial + 2;
constexpr int32_t kPad = kFirstSpecial + 3;
constexpr int32_t kTypeNormal = 1;
constexpr int32_t kTypeControl = 3;

constexpr std::string_view kChatTemplate =
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}<|im_end|>\n"
    "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}";

// The letters that byte-level BPE writes for the 256 bytes: printable Latin-1 as itself, the rest from U+0100
// on.
std::array<std::string, 256> ByteLetters() {
  std::array<std::string, 256> letters;
  uint32_t next = 256;
  for (uint32_t byte = 0; byte < 256; ++byte) {
    const bool printable = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    AppendUtf8(printable ? byte : next++, &letters[byte]);
  }
  return letters;
}

struct Vocabulary {
  std::vector<std::string> tokens;
  std::vector<std::string> merges;  // "left right"
};

// Words grow from the space, a letter at a time, consonant and vowel in turn; each token is its parent and
// one letter, and that pair is its merge. Breadth first, so that merges of parents come before those of
// children.
Vocabulary MakeVocabulary(int64_t size) {
  Vocabulary vocabulary;
  const std::array<std::string, 256> letters = ByteLetters();
  vocabulary.tokens.assign(letters.begin(), letters.end());
  for (const std::string_view special : kSpecials) vocabulary.tokens.emplace_back(special);
  std::vector<std::string> level = {letters[' ']};
  for (bool vowel = false; static_cast<int64_t>(vocabulary.tokens.size()) < size; vowel = !vowel) {
    std::vector<std::string> next;
    for (const std::string& parent : level) {
      for (const char letter : vowel ? std::string_view("aeiou") : std::string_view("bcdfghjklmnprstvwyz")) {
        if (static_cast<int64_t>(vocabulary.tokens.size()) == size) return vocabulary;
        next.push_back(parent + letter);
        vocabulary.tokens.push_back(next.back());
        vocabulary.merges.push_back(parent + ' ' + letter);
      }
    }
    level = std::move(next);
  }
  return vocabulary;
}

std::string TokenizerJsonOf(const Vocabulary& vocabulary) {
  // Written as text: a JSON object of 260,000 keys would be slow to build.
  std::string json = R"({"version":"1.0","truncation":null,"padding":null,"added_tokens":[)";
  for (size_t i = 0; i < std::size(kSpecials); ++i) {
    if (i > 0) json += ',';
    json += fmt::format(R"({{"id":{},"content":"{}","single_word":false,"lstrip":false,"rstrip":false,)"
                        R"("normalized":false,"special":true}})",
                        kFirstSpecial + i, kSpecials[i]);
  }
  json +=
      R"(],"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false,"trim_offsets":true,)"
      R"("use_regex":true},"post_processor":null,"decoder":{"type":"ByteLevel","add_prefix_space":true,)"
      R"("trim_offsets":true,"use_regex":true},"model":{"type":"BPE","dropout":null,"unk_token":null,)"
      R"("continuing_subword_prefix":null,"end_of_word_suffix":null,"fuse_unk":false,"byte_fallback":false,)"
      R"("ignore_merges":false,"vocab":{)";
  for (size_t i = 0; i < vocabulary.tokens.size(); ++i) {
    if (i > 0) json += ',';
    AppendJsonString(vocabulary.tokens[i], &json);
    json += fmt::format(":{}", i);
  }
  json += R"(},"merges":[)";
  for (size_t i = 0; i < vocabulary.merges.size(); ++i) {
    if (i > 0) json += ',';
    AppendJsonString(vocabulary.merges[i], &json);
  }
  return json + "]}}";
}

}  // namespace

TokenizerFiles MakeSyntheticTokenizer(int64_t vocab) {
  CHECK_MSG(vocab >= kFirstSpecial + 4, "a synthetic tokenizer needs 260 tokens or more, not {}", vocab);
  Vocabulary vocabulary = MakeVocabulary(vocab);
  TokenizerFiles files;
  files.bos_id = kBos;
  files.eos_id = kEos;
  files.tokenizer_json = TokenizerJsonOf(vocabulary);
  files.tokenizer_config_json = Json{
      {"tokenizer_class", "PreTrainedTokenizerFast"},
      {"add_bos_token", false},
      {"add_eos_token", false},
      {"bos_token", kSpecials[0]},
      {"eos_token", kSpecials[2]},
      {"pad_token", kSpecials[3]},
      {"clean_up_tokenization_spaces", false},
      {"chat_template",
       kChatTemplate}}.dump(2);
  std::vector<int32_t> types(vocabulary.tokens.size(), kTypeNormal);
  for (size_t i = 0; i < std::size(kSpecials); ++i) types[kFirstSpecial + i] = kTypeControl;
  files.gguf = {{"tokenizer.ggml.model", "gpt2"},
                {"tokenizer.ggml.pre", "gpt-2"},
                {"tokenizer.ggml.tokens", std::move(vocabulary.tokens)},
                {"tokenizer.ggml.token_type", std::move(types)},
                {"tokenizer.ggml.merges", std::move(vocabulary.merges)},
                {"tokenizer.ggml.bos_token_id", static_cast<uint32_t>(kBos)},
                {"tokenizer.ggml.eos_token_id", static_cast<uint32_t>(kEos)},
                {"tokenizer.ggml.padding_token_id", static_cast<uint32_t>(kPad)},
                {"tokenizer.ggml.add_bos_token", false},
                {"tokenizer.ggml.add_eos_token", false},
                {"tokenizer.chat_template", std::string(kChatTemplate)}};
  return files;
}

}  // namespace firebrick
