#include "cli/tokenize.h"

#include <charconv>
#include <cstdint>
#include <iostream>
#include <iterator>
#include <memory>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "text/tokenizer.h"

namespace firebrick {
namespace {

using Ids = std::vector<int32_t>;

void AppendIds(const Ids& ids, std::string_view separator, std::string* out) {
  for (size_t i = 0; i < ids.size(); ++i) {
    if (i > 0) *out += separator;
    *out += std::to_string(ids[i]);
  }
}

Result<Ids> EncodeOne(const Tokenizer& tokenizer, const TokenizeOptions& options, std::string_view text) {
  const SpecialTokens special = options.no_special ? SpecialTokens::kAsText : SpecialTokens::kRecognise;
  return tokenizer.Encode(text, special, options.add_special);
}

Result<std::string> EncodeLine(const Tokenizer& tokenizer, const TokenizeOptions& options,
                               std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  if (!json.is_string()) return InvalidArgument("it is not a JSON string");
  ASSIGN_OR_RETURN(const Ids ids, EncodeOne(tokenizer, options, json.get_ref<const std::string&>()));
  std::string out = "[";
  AppendIds(ids, ",", &out);
  return out + "]";
}

Result<std::string> DecodeLine(const Tokenizer& tokenizer, const TokenizeOptions& options,
                               std::string_view line) {
  ASSIGN_OR_RETURN(const Json json, ParseJson(line));
  if (!json.is_array()) return InvalidArgument("it is not a list of ids");
  Ids ids;
  for (const Json& id : json) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= tokenizer.vocab_size()) {
      return InvalidArgument("{} is not a token id below {}", id.dump(), tokenizer.vocab_size());
    }
    ids.push_back(id.get<int32_t>());
  }
  std::string out;
  AppendJsonString(tokenizer.Decode(ids, options.no_special), &out);
  return out;
}

Status RunLines(const Tokenizer& tokenizer, const TokenizeOptions& options, std::istream& in,
                std::ostream& out) {
  std::string line;
  for (size_t number = 1; std::getline(in, line); ++number) {
    if (line.empty()) continue;
    const Result<std::string> result =
        options.decode ? DecodeLine(tokenizer, options, line) : EncodeLine(tokenizer, options, line);
    if (!result.ok()) return result.status().WithContext("line " + std::to_string(number));
    out << *result << '\n';
  }
  out.flush();
  return OkStatus();
}

// Ids separated by spaces, commas or brackets.
Result<Ids> ParseIds(std::string_view text, int32_t vocab_size) {
  Ids ids;
  constexpr std::string_view kSeparators = " \t\r\n,[]";
  for (size_t pos = text.find_first_not_of(kSeparators); pos != std::string_view::npos;
       pos = text.find_first_not_of(kSeparators, pos)) {
    const size_t end = std::min(text.find_first_of(kSeparators, pos), text.size());
    int32_t id = -1;
    const auto [stop, error] = std::from_chars(text.data() + pos, text.data() + end, id);
    if (error != std::errc() || stop != text.data() + end || id < 0 || id >= vocab_size) {
      return InvalidArgument("\"{}\" is not a token id below {}", text.substr(pos, end - pos), vocab_size);
    }
    ids.push_back(id);
    pos = end;
  }
  return ids;
}

Status RunWhole(const Tokenizer& tokenizer, const TokenizeOptions& options, std::istream& in,
                std::ostream& out) {
  const std::string input{std::istreambuf_iterator<char>(in), {}};
  if (options.decode) {
    ASSIGN_OR_RETURN(const Ids ids, ParseIds(input, tokenizer.vocab_size()));
    out << tokenizer.Decode(ids, options.no_special) << std::flush;
    return OkStatus();
  }
  ASSIGN_OR_RETURN(const Ids ids, EncodeOne(tokenizer, options, input));
  std::string line;
  AppendIds(ids, " ", &line);
  out << line << std::endl;
  return OkStatus();
}

}  // namespace

Status TokenizeCommand(const TokenizeOptions& options, std::istream& in, std::ostream& out) {
  ASSIGN_OR_RETURN(const Tokenizer tokenizer, Tokenizer::Open(options.model));
  return options.jsonl ? RunLines(tokenizer, options, in, out) : RunWhole(tokenizer, options, in, out);
}

CommandAction DeclareTokenize(FlagSet* flags) {
  auto options = std::make_shared<TokenizeOptions>();
  flags->Positional("MODEL",
                    "A .gguf file, a folder, a hub name or a tokenizer.json; left out: the default model",
                    &options->model);
  flags->Switch("--jsonl", "In: one JSON string per line; out: one array of ids per line", &options->jsonl);
  flags->Switch("--decode", "The other way: ids to text", &options->decode);
  flags->Switch("--no-special",
                "Look-alikes of special tokens stay text; with --decode: leave special ones out",
                &options->no_special);
  flags->Switch("--add-special", "BOS and EOS as the tokenizer adds them", &options->add_special);
  flags->Example("echo -n 'Hello, world' | firebrick tokenize");
  return [options]() -> Status {
    ASSIGN_OR_RETURN(options->model, ResolveModelPath(options->model));
    return TokenizeCommand(*options, std::cin, std::cout);
  };
}

}  // namespace firebrick
