// The names of tokenizer.ggml.pre. The expressions are those of the models' own tokenizer files, so that ids
// equal Hugging Face's; where llama.cpp approximates one (ASCII instead of cased letters), the original is
// meant.
#include <algorithm>
#include <iterator>

#include "text/gguf_vocabulary.h"

namespace firebrick {
namespace {

constexpr std::string_view kGpt2 =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
constexpr std::string_view kLlama3 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen2 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kQwen35 =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kGpt4o =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kTekken =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
constexpr std::string_view kDigit = R"(\p{N})";
constexpr std::string_view kDigits = R"(\p{N}+)";
constexpr std::string_view kThreeDigits = R"(\p{N}{1,3})";
constexpr std::string_view kIdeographs = "[\u4e00-\u9fa5\u3040-\u309f\u30a0-\u30ff]+";
constexpr std::string_view kDeepSeekWords =
    "[!\"#$%&'()*+,\\-./:;<=>?@\\[\\\\\\]^_`{|}~][A-Za-z]+|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*|\\s*[\r\n]+|\\s+(?!\\S)|\\s+";
constexpr std::string_view kNewline = "[\r\n]";
constexpr std::string_view kCasedWord = R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)";
constexpr std::string_view kAnyWord = R"(\s?\p{L}+)";
constexpr std::string_view kPunctuation = R"(\s?\p{P}+)";
constexpr std::string_view kDeepSeekPunctuation =
    "\\s?[!-/:-~\uff01-\uff0f\uff1a-\uff5e\u2018-\u201f\u3000-\u3002]+";
constexpr std::string_view kTrailingSpace = R"(\s+\z)";
constexpr std::string_view kEastAsian = "[\u4e00-\u9fa5\u0800-\u4e00\uac00-\ud7ff]+";
constexpr std::string_view kSymbols = R"([\p{P}\$\+<=>\^~\|`]+)";
constexpr std::string_view kSymbolsDefault = R"([\p{P}\$\+<=>\^~\|]+)";
constexpr std::string_view kGpt2Open =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S))";
constexpr std::string_view kThreeAscii = "[0-9][0-9][0-9]";

struct NamedPreTokenizer {
  std::string_view name;
  GgufPreTokenizer value;
};

const std::vector<NamedPreTokenizer>& Known() {
  static const std::vector<NamedPreTokenizer> known = [] {
    std::vector<NamedPreTokenizer> rows;
    const auto add = [&](std::initializer_list<std::string_view> names, const GgufPreTokenizer& value) {
      for (const std::string_view name : names) rows.push_back({name, value});
    };
    add({"llama-bpe", "llama3", "llama-v3", "falcon3", "falcon-h1", "pixtral", "midm-2.0", "lfm2"},
        {.regexes = {kLlama3}, .ignore_merges = true, .add_bos = true});
    add({"smaug-bpe", "dbrx", "glm4", "chatglm-bpe"}, {.regexes = {kLlama3}});
    add({"qwen2", "deepseek-r1-qwen", "megrez", "stablelm2"}, {.regexes = {kQwen2}, .nfc = true});
    add({"qwen35"}, {.regexes = {kQwen35}, .nfc = true});
    add({"gpt-4o", "llama4", "kanana2"}, {.regexes = {kGpt4o}, .ignore_merges = true});
    add({"tekken"}, {.regexes = {kTekken}, .ignore_merges = true, .add_bos = true});
    add({"gpt-2", "phi-2", "olmo", "mpt", "jina-v2-es", "jina-v2-de", "gigachat", "a.x-4.0", "mellum"},
        {.regexes = {kGpt2}});
    add({"smollm", "starcoder", "refact", "codeshell", "exaone", "minerva-7b"}, {.regexes = {kDigit, kGpt2}});
    add({"command-r"}, {.regexes = {kDigit, kGpt2}, .nfc = true});
    add({"deepseek-v3", "hunyuan-dense"}, {.regexes = {kThreeDigits, kIdeographs, kDeepSeekWords}});
    add({"deepseek-llm"},
        {.regexes = {kNewline, kCasedWord, kDeepSeekPunctuation, kTrailingSpace, kEastAsian, kDigits}});
    add({"deepseek-coder"}, {.regexes = {kNewline, kAnyWord, kPunctuation, kEastAsian, kDigit}});
    add({"falcon"}, {.regexes = {kSymbols, kGpt2, kThreeAscii}});
    add({"default"}, {.regexes = {kSymbolsDefault, kGpt2Open, kDigits, kThreeAscii}});
    return rows;
  }();
  return known;
}

}  // namespace

std::optional<GgufPreTokenizer> FindGgufPreTokenizer(std::string_view name) {
  for (const NamedPreTokenizer& row : Known()) {
    if (row.name == name) return row.value;
  }
  return std::nullopt;
}

}  // namespace firebrick
