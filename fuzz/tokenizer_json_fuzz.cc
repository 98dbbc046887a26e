// links: fb_text
// tokenizer.json: the input is a file, a zero byte, and a text to encode with it. Where the file is refused,
// the text goes through one of the tiny tokenizers instead, in both trusts, streamed back.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "text/detokenizer.h"
#include "text/stop_matcher.h"
#include "text/tokenizer.h"

namespace firebrick {
namespace {

constexpr std::string_view kTiny[] = {
    R"({"added_tokens":[{"content":"<|x|>","id":9,"special":true},{"content":"ab","id":10,"normalized":true,"lstrip":true}],
        "normalizer":{"type":"NFC"},"pre_tokenizer":{"type":"Sequence","pretokenizers":[
        {"type":"Split","behavior":"Isolated","pattern":{"Regex":"[a-z]+|\\s+(?!\\S)|\\p{N}{1,3}"}},
        {"type":"ByteLevel","use_regex":true,"add_prefix_space":true}]},"decoder":{"type":"ByteLevel"},
        "model":{"vocab":{"a":0,"b":1,"ab":2,"Ġ":3,"Ġa":4,"Ã":5,"©":6,"é":7,"abab":8},"merges":["a b","Ġ a","ab ab"]}})",
    R"({"added_tokens":[{"content":"<s>","id":0,"special":true}],"normalizer":{"type":"Sequence","normalizers":[
        {"type":"Prepend","prepend":"▁"},{"type":"Replace","pattern":{"String":" "},"content":"▁"}]},
        "decoder":{"type":"Sequence","decoders":[{"type":"Replace","pattern":{"String":"▁"},"content":" "},
        {"type":"ByteFallback"},{"type":"Fuse"},{"type":"Strip","content":" ","start":1,"stop":0}]},
        "model":{"byte_fallback":true,"fuse_unk":true,"unk_token":"<u>","vocab":{"<s>":0,"<u>":1,"▁":2,"a":3,"b":4,"▁a":5,"ab":6,
        "<0xC3>":7,"<0xA9>":8,"▁▁":9},"merges":[["▁","a"],["a","b"],["▁","▁"]]}})"};

void Use(const Tokenizer& tokenizer, std::string_view text) {
  size_t half = text.size() / 2;
  while (half > 0 && (static_cast<unsigned char>(text[half]) & 0xc0) == 0x80) --half;
  const TextSpan spans[] = {{text.substr(0, half), true}, {text.substr(half), false}};
  for (const auto& ids :
       {tokenizer.Encode(spans, true), tokenizer.Encode(text, SpecialTokens::kRecognise, false),
        tokenizer.Encode(text, SpecialTokens::kAsText, false)}) {
    if (!ids.ok()) continue;
    Detokenizer detokenizer(tokenizer, false);
    StopMatcher stops = StopMatcher::Create({"ab", "a b"}, false).value();
    std::string streamed;
    for (const int32_t id : *ids) {
      CHECK(id >= 0 && id < tokenizer.vocab_size());
      streamed += detokenizer.Push(id);
      stops.Push(streamed);
    }
    streamed += detokenizer.Flush();
    CHECK(streamed == tokenizer.Decode(*ids, false));
  }
}

void FuzzOne(std::string_view input) {
  static const std::vector<Tokenizer>* tiny = [] {
    auto* list = new std::vector<Tokenizer>();
    for (const std::string_view json : kTiny) list->push_back(Tokenizer::FromJson(json, nullptr).value());
    return list;
  }();
  const size_t border = input.find('\0');
  const std::string_view json = input.substr(0, border);
  const std::string_view text =
      border == std::string_view::npos ? std::string_view("aé b1\u0301 ab") : input.substr(border + 1);
  if (const auto tokenizer = Tokenizer::FromJson(json, nullptr); tokenizer.ok()) Use(*tokenizer, text);
  for (const Tokenizer& tokenizer : *tiny) Use(tokenizer, border == std::string_view::npos ? json : text);
}

}  // namespace
}  // namespace firebrick

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  firebrick::FuzzOne({reinterpret_cast<const char*>(data), size});
  return 0;
}
