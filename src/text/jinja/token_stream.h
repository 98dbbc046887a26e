// The tokens of a template with the cursor of the parser, and the names seen so far.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "text/jinja/lexer.h"

namespace firebrick::jinja {

class TokenStream {
 public:
  explicit TokenStream(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Current() const { return tokens_[at_]; }
  const Token& Ahead() const { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  const Token& Next() {
    const Token& token = tokens_[at_];
    if (at_ + 1 < tokens_.size()) ++at_;
    return token;
  }
  bool AtOperator(std::string_view op) const { return Is(Current(), TokenKind::kOperator, op); }
  bool AtName(std::string_view name) const { return Is(Current(), TokenKind::kName, name); }
  bool At(TokenKind kind) const { return Current().kind == kind; }
  bool SkipOperator(std::string_view op) { return AtOperator(op) && (Next(), true); }
  bool SkipName(std::string_view name) { return AtName(name) && (Next(), true); }
  void ExpectOperator(std::string_view op) {
    if (!SkipOperator(op)) FailExpected(op);
  }
  void ExpectName(std::string_view name) {
    if (!SkipName(name)) FailExpected(name);
  }
  const Token& Expect(TokenKind kind, std::string_view what) {
    if (!At(kind)) FailExpected(what);
    return Next();
  }
  static bool Is(const Token& token, TokenKind kind, std::string_view text) {
    return token.kind == kind && token.text == text;
  }
  static std::string Describe(const Token& token);
  [[noreturn]] void FailExpected(std::string_view what) const {
    Fail("line {}: expected {}, found {}", Current().line, what, Describe(Current()));
  }

 private:
  std::vector<Token> tokens_;
  size_t at_ = 0;
};

// Interns names to indices.
class NameTable {
 public:
  int Index(const std::string& name) {
    const auto [at, added] = index_.try_emplace(name, static_cast<int>(names_.size()));
    if (added) names_.push_back(name);
    return at->second;
  }
  std::vector<std::string> Take() { return std::move(names_); }

 private:
  std::unordered_map<std::string, int> index_;
  std::vector<std::string> names_;
};

}  // namespace firebrick::jinja
