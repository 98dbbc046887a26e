// Cuts a template into data and the tokens of its tags; whitespace control (trim_blocks, lstrip_blocks, - and
// +) is done here, as Jinja 3.1 does it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace firebrick::jinja {

enum class TokenKind : uint8_t {
  kData,
  kBlockBegin,
  kBlockEnd,
  kVariableBegin,
  kVariableEnd,
  kName,
  kString,
  kInteger,
  kFloat,
  kOperator,
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  int line = 1;
  std::string text;  // data, name, operator, or the unescaped string
  Int integer = 0;
  double number = 0;
};

// Fails (throws Failure) on unknown characters, unclosed tags and unbalanced brackets. Ends with kEnd.
std::vector<Token> Tokenize(std::string_view source);

}  // namespace firebrick::jinja
