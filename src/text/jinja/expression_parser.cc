#include "text/jinja/expression_parser.h"

#include <algorithm>

#include "text/jinja/parser.h"

namespace firebrick::jinja {

// Counts the recursion of the parser itself: brackets, chains of `not` and of signs, nested choices.
class ExpressionParser::Nesting {
 public:
  explicit Nesting(ExpressionParser& parser) : parser_(parser) {
    if (++parser_.nesting_ > kMaxExprDepth) {
      --parser_.nesting_;
      Fail("line {}: an expression nests deeper than {} levels", parser.tokens_.Current().line,
           kMaxExprDepth);
    }
  }
  ~Nesting() { --parser_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;

 private:
  ExpressionParser& parser_;
};

ExprPtr ExpressionParser::Finish(ExprPtr node) const {
  int depth = 0;
  const auto look = [&depth](const ExprPtr& child) {
    if (child != nullptr) depth = std::max(depth, child->depth);
  };
  for (const ExprPtr& operand : node->operands) look(operand);
  for (const ExprPtr& arg : node->args.positional) look(arg);
  for (const auto& [name, arg] : node->args.keywords) look(arg);
  look(node->args.star);
  look(node->args.double_star);
  node->depth = depth + 1;
  if (node->depth > kMaxExprDepth) {
    Fail("line {}: an expression nests deeper than {} levels", node->line, kMaxExprDepth);
  }
  return node;
}

template <typename... Operands>
ExprPtr ExpressionParser::Make(ExprKind kind, int line, Operands... operands) const {
  auto node = std::make_unique<Expr>();
  node->kind = kind;
  node->line = line;
  (node->operands.push_back(std::move(operands)), ...);
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Constant(Value value, int line) const {
  ExprPtr node = Make(ExprKind::kConst, line);
  node->constant = std::move(value);
  return node;
}

ExprPtr ExpressionParser::Expression(bool with_choice) {
  const Nesting nesting(*this);
  return with_choice ? Choice() : Or();
}

ExprPtr ExpressionParser::Tuple(bool with_choice, std::string_view end_name, bool in_brackets) {
  const int line = tokens_.Current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  for (;;) {
    if (!items.empty()) tokens_.ExpectOperator(",");
    if (tokens_.At(TokenKind::kVariableEnd) || tokens_.At(TokenKind::kBlockEnd) || tokens_.AtOperator(")") ||
        (!end_name.empty() && tokens_.AtName(end_name))) {
      break;
    }
    items.push_back(Expression(with_choice));
    if (!tokens_.AtOperator(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items.front());
  if (!is_tuple && !in_brackets) tokens_.FailExpected("an expression");
  ExprPtr node = Make(ExprKind::kTuple, line);
  node->operands = std::move(items);
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Choice() {
  const Nesting nesting(*this);
  ExprPtr node = Or();
  while (tokens_.AtName("if")) {
    const int line = tokens_.Next().line;
    ExprPtr condition = Or();
    ExprPtr otherwise;
    if (tokens_.SkipName("else")) otherwise = Choice();
    node = Make(ExprKind::kChoose, line, std::move(condition), std::move(node), std::move(otherwise));
  }
  return node;
}

ExprPtr ExpressionParser::Or() {
  ExprPtr left = And();
  while (tokens_.AtName("or")) {
    const int line = tokens_.Next().line;
    left = Make(ExprKind::kOr, line, std::move(left), And());
  }
  return left;
}

ExprPtr ExpressionParser::And() {
  ExprPtr left = Not();
  while (tokens_.AtName("and")) {
    const int line = tokens_.Next().line;
    left = Make(ExprKind::kAnd, line, std::move(left), Not());
  }
  return left;
}

ExprPtr ExpressionParser::Not() {
  if (!tokens_.AtName("not")) return Compare();
  const Nesting nesting(*this);
  const int line = tokens_.Next().line;
  return Make(ExprKind::kNot, line, Not());
}

bool ExpressionParser::FindCompareOp(Op* op) {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"==", Op::kEq}, {"!=", Op::kNe}, {"<", Op::kLt}, {"<=", Op::kLe}, {">", Op::kGt}, {">=", Op::kGe}};
  for (const auto& [text, found] : kOps) {
    if (tokens_.SkipOperator(text)) {
      *op = found;
      return true;
    }
  }
  if (tokens_.SkipName("in")) {
    *op = Op::kIn;
    return true;
  }
  if (tokens_.AtName("not") && TokenStream::Is(tokens_.Ahead(), TokenKind::kName, "in")) {
    tokens_.Next();
    tokens_.Next();
    *op = Op::kNotIn;
    return true;
  }
  return false;
}

ExprPtr ExpressionParser::Compare() {
  const int line = tokens_.Current().line;
  ExprPtr first = Sum();
  std::vector<ExprPtr> operands;
  std::vector<Op> ops;
  Op op = Op::kEq;
  while (FindCompareOp(&op)) {
    ops.push_back(op);
    operands.push_back(Sum());
  }
  if (ops.empty()) return first;
  ExprPtr node = Make(ExprKind::kCompare, line, std::move(first));
  for (ExprPtr& operand : operands) node->operands.push_back(std::move(operand));
  node->ops = std::move(ops);
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Sum() {
  ExprPtr left = Concat();
  while (tokens_.AtOperator("+") || tokens_.AtOperator("-")) {
    const Token& token = tokens_.Next();
    const Op op = token.text == "+" ? Op::kAdd : Op::kSub;
    left = Make(ExprKind::kBinary, token.line, std::move(left), Concat());
    left->op = op;
  }
  return left;
}

ExprPtr ExpressionParser::Concat() {
  ExprPtr first = Product();
  if (!tokens_.AtOperator("~")) return first;
  ExprPtr node = Make(ExprKind::kConcat, tokens_.Current().line, std::move(first));
  while (tokens_.SkipOperator("~")) node->operands.push_back(Product());
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Product() {
  static constexpr std::pair<std::string_view, Op> kOps[] = {
      {"*", Op::kMul}, {"/", Op::kDiv}, {"//", Op::kFloorDiv}, {"%", Op::kMod}};
  ExprPtr left = Power();
  for (;;) {
    const auto* found = std::find_if(std::begin(kOps), std::end(kOps),
                                     [this](const auto& op) { return tokens_.AtOperator(op.first); });
    if (found == std::end(kOps)) return left;
    const int line = tokens_.Next().line;
    left = Make(ExprKind::kBinary, line, std::move(left), Power());
    left->op = found->second;
  }
}

ExprPtr ExpressionParser::Power() {
  ExprPtr left = Unary();
  while (tokens_.AtOperator("**")) {
    const int line = tokens_.Next().line;
    left = Make(ExprKind::kBinary, line, std::move(left), Unary());
    left->op = Op::kPow;
  }
  return left;
}

ExprPtr ExpressionParser::Unary(bool with_filters) {
  ExprPtr node;
  if (tokens_.AtOperator("-") || tokens_.AtOperator("+")) {
    const Nesting nesting(*this);
    const Token& token = tokens_.Next();
    const ExprKind kind = token.text == "-" ? ExprKind::kNegate : ExprKind::kPlus;
    node = Make(kind, token.line, Unary(false));
  } else {
    node = Primary();
  }
  node = Postfix(std::move(node));
  return with_filters ? FilterTail(std::move(node)) : std::move(node);
}

ExprPtr ExpressionParser::Name() {
  const Token& token = tokens_.Next();
  if (token.text == "true" || token.text == "True") return Constant(Value::Of(true), token.line);
  if (token.text == "false" || token.text == "False") return Constant(Value::Of(false), token.line);
  if (token.text == "none" || token.text == "None") return Constant(Value::MakeNone(), token.line);
  ExprPtr node = Make(ExprKind::kName, token.line);
  node->text = token.text;
  node->name = names_.Index(token.text);
  return node;
}

ExprPtr ExpressionParser::Primary() {
  const Token& token = tokens_.Current();
  switch (token.kind) {
    case TokenKind::kName:
      return Name();
    case TokenKind::kString: {
      std::string text;
      while (tokens_.At(TokenKind::kString)) text += tokens_.Next().text;
      return Constant(Value::Of(Text::Make(std::move(text), false, nullptr)), token.line);
    }
    case TokenKind::kInteger:
      tokens_.Next();
      return Constant(Value::Of(token.integer), token.line);
    case TokenKind::kFloat:
      tokens_.Next();
      return Constant(Value::Of(token.number), token.line);
    default:
      break;
  }
  if (tokens_.SkipOperator("(")) {
    ExprPtr node = Tuple(true, {}, true);
    tokens_.ExpectOperator(")");
    return node;
  }
  if (tokens_.AtOperator("[")) return ListLiteral();
  if (tokens_.AtOperator("{")) return DictLiteral();
  tokens_.FailExpected("an expression");
}

ExprPtr ExpressionParser::ListLiteral() {
  ExprPtr node = Make(ExprKind::kList, tokens_.Next().line);
  while (!tokens_.AtOperator("]")) {
    if (!node->operands.empty()) tokens_.ExpectOperator(",");
    if (tokens_.AtOperator("]")) break;
    node->operands.push_back(Expression());
  }
  tokens_.ExpectOperator("]");
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::DictLiteral() {
  ExprPtr node = Make(ExprKind::kDict, tokens_.Next().line);
  while (!tokens_.AtOperator("}")) {
    if (!node->operands.empty()) tokens_.ExpectOperator(",");
    if (tokens_.AtOperator("}")) break;
    node->operands.push_back(Expression());
    tokens_.ExpectOperator(":");
    node->operands.push_back(Expression());
  }
  tokens_.ExpectOperator("}");
  return Finish(std::move(node));
}

ExprPtr ExpressionParser::Postfix(ExprPtr node) {
  for (;;) {
    if (tokens_.AtOperator(".") || tokens_.AtOperator("[")) {
      node = Subscript(std::move(node));
    } else if (tokens_.AtOperator("(")) {
      node = Call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::FilterTail(ExprPtr node) {
  for (;;) {
    if (tokens_.AtOperator("|")) {
      node = Filters(std::move(node));
    } else if (tokens_.AtName("is")) {
      node = Test(std::move(node));
    } else if (tokens_.AtOperator("(")) {
      node = Call(std::move(node));
    } else {
      return node;
    }
  }
}

ExprPtr ExpressionParser::Subscript(ExprPtr node) {
  const int line = tokens_.Current().line;
  if (tokens_.SkipOperator(".")) {
    const Token& token = tokens_.Next();
    if (token.kind == TokenKind::kName) {
      ExprPtr out = Make(ExprKind::kAttribute, line, std::move(node));
      out->text = token.text;
      return out;
    }
    if (token.kind != TokenKind::kInteger) Fail("line {}: expected a name or a number after '.'", line);
    return Make(ExprKind::kItem, line, std::move(node), Constant(Value::Of(token.integer), line));
  }
  tokens_.ExpectOperator("[");
  ExprPtr parts[3];
  bool is_slice = false;
  if (!tokens_.AtOperator(":")) parts[0] = Expression();
  for (int i = 1; i < 3 && tokens_.SkipOperator(":"); ++i) {
    is_slice = true;
    if (!tokens_.AtOperator(":") && !tokens_.AtOperator("]")) parts[i] = Expression();
  }
  if (!is_slice && tokens_.AtOperator(",")) {  // a[b, c] reads the tuple (b, c)
    ExprPtr tuple = Make(ExprKind::kTuple, line, std::move(parts[0]));
    while (tokens_.SkipOperator(",")) {
      if (tokens_.AtOperator("]")) break;
      tuple->operands.push_back(Expression());
    }
    parts[0] = Finish(std::move(tuple));
  }
  tokens_.ExpectOperator("]");
  if (!is_slice) return Make(ExprKind::kItem, line, std::move(node), std::move(parts[0]));
  return Make(ExprKind::kSlice, line, std::move(node), std::move(parts[0]), std::move(parts[1]),
              std::move(parts[2]));
}

void ExpressionParser::Argument(CallArgs* args) {
  const int line = tokens_.Current().line;
  const auto require = [line](bool condition) {
    if (!condition) Fail("line {}: the arguments of a call are in the wrong order", line);
  };
  if (tokens_.SkipOperator("*")) {
    require(args->star == nullptr && args->double_star == nullptr);
    args->star = Expression();
  } else if (tokens_.SkipOperator("**")) {
    require(args->double_star == nullptr);
    args->double_star = Expression();
  } else if (tokens_.At(TokenKind::kName) && TokenStream::Is(tokens_.Ahead(), TokenKind::kOperator, "=")) {
    require(args->double_star == nullptr);
    std::string name = tokens_.Next().text;
    tokens_.Next();
    for (const auto& [other, value] : args->keywords) {
      if (other == name) Fail("line {}: the argument {} is given twice", line, name);
    }
    args->keywords.emplace_back(std::move(name), Expression());
  } else {
    require(args->star == nullptr && args->double_star == nullptr && args->keywords.empty());
    args->positional.push_back(Expression());
  }
}

CallArgs ExpressionParser::Arguments() {
  CallArgs args;
  tokens_.ExpectOperator("(");
  for (bool first = true; !tokens_.AtOperator(")"); first = false) {
    if (!first) tokens_.ExpectOperator(",");
    if (tokens_.AtOperator(")")) break;
    Argument(&args);
  }
  tokens_.ExpectOperator(")");
  return args;
}

ExprPtr ExpressionParser::Call(ExprPtr node) {
  ExprPtr out = Make(ExprKind::kCall, tokens_.Current().line, std::move(node));
  out->args = Arguments();
  return Finish(std::move(out));
}

ExprPtr ExpressionParser::Filters(ExprPtr input, bool first_without_pipe) {
  while (first_without_pipe || tokens_.SkipOperator("|")) {
    first_without_pipe = false;
    const Token& token = tokens_.Expect(TokenKind::kName, "the name of a filter");
    ExprPtr node = Make(ExprKind::kFilter, token.line, std::move(input));
    node->text = token.text;
    while (tokens_.SkipOperator(".")) node->text += "." + tokens_.Expect(TokenKind::kName, "a name").text;
    if (tokens_.AtOperator("(")) node->args = Arguments();
    input = Finish(std::move(node));
  }
  return input;
}

ExprPtr ExpressionParser::Test(ExprPtr input) {
  const int line = tokens_.Next().line;
  const bool negated = tokens_.SkipName("not");
  const Token& token = tokens_.Expect(TokenKind::kName, "the name of a test");
  ExprPtr node = Make(ExprKind::kTest, line, std::move(input));
  node->text = token.text;
  while (tokens_.SkipOperator(".")) node->text += "." + tokens_.Expect(TokenKind::kName, "a name").text;
  const TokenKind kind = tokens_.Current().kind;
  if (tokens_.AtOperator("(")) {
    node->args = Arguments();
  } else if ((kind == TokenKind::kName && !tokens_.AtName("else") && !tokens_.AtName("or") &&
              !tokens_.AtName("and")) ||
             kind == TokenKind::kString || kind == TokenKind::kInteger || kind == TokenKind::kFloat ||
             tokens_.AtOperator("[") || tokens_.AtOperator("{")) {
    if (tokens_.AtName("is")) Fail("line {}: tests cannot be chained with is", line);
    node->args.positional.push_back(Postfix(Primary()));
  }
  node = Finish(std::move(node));
  return negated ? Make(ExprKind::kNot, line, std::move(node)) : std::move(node);
}

}  // namespace firebrick::jinja
