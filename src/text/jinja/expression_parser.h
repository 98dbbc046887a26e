// Expressions, from `if … else` down to literals.
#pragma once

#include <memory>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/token_stream.h"

namespace firebrick::jinja {

class ExpressionParser {
 public:
  ExpressionParser(TokenStream& tokens, NameTable& names) : tokens_(tokens), names_(names) {}

  ExprPtr Expression(bool with_choice = true);
  // One expression, or a tuple without brackets; ends at `end_name` too.
  ExprPtr Tuple(bool with_choice = true, std::string_view end_name = {}, bool in_brackets = false);
  // name(args) | name …, each applied to the one before; the innermost input is `input`, which may be null.
  ExprPtr Filters(ExprPtr input, bool first_without_pipe = false);
  ExprPtr Postfix(ExprPtr node);
  CallArgs Arguments();
  ExprPtr Constant(Value value, int line) const;

 private:
  class Nesting;
  ExprPtr Choice();
  ExprPtr Or();
  ExprPtr And();
  ExprPtr Not();
  ExprPtr Compare();
  ExprPtr Sum();
  ExprPtr Concat();
  ExprPtr Product();
  ExprPtr Power();
  ExprPtr Unary(bool with_filters = true);
  ExprPtr Primary();
  ExprPtr ListLiteral();
  ExprPtr DictLiteral();
  ExprPtr Name();
  ExprPtr Subscript(ExprPtr node);
  ExprPtr Call(ExprPtr node);
  ExprPtr Test(ExprPtr node);
  ExprPtr FilterTail(ExprPtr node);
  bool FindCompareOp(Op* op);
  void Argument(CallArgs* args);

  template <typename... Operands>
  ExprPtr Make(ExprKind kind, int line, Operands... operands) const;
  ExprPtr Finish(ExprPtr node) const;  // computes the depth, and checks it

  TokenStream& tokens_;
  NameTable& names_;
  int nesting_ = 0;
};

}  // namespace firebrick::jinja
