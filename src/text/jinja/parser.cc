#include "text/jinja/parser.h"

#include <algorithm>
#include <array>

#include "text/jinja/builtins.h"
#include "text/jinja/expression_parser.h"
#include "text/jinja/name_check.h"

namespace firebrick::jinja {

std::string TokenStream::Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the template";
    case TokenKind::kBlockEnd:
      return "'%}'";
    case TokenKind::kVariableEnd:
      return "'}}'";
    case TokenKind::kBlockBegin:
    case TokenKind::kVariableBegin:
    case TokenKind::kData:
      return "text";
    case TokenKind::kInteger:
    case TokenKind::kFloat:
      return "a number";
    default:
      return fmt::format("'{}'", token.text);
  }
}

namespace {

using EndNames = std::initializer_list<std::string_view>;

class StatementParser {
 public:
  explicit StatementParser(std::string_view source)
      : tokens_(Tokenize(source)), expressions_(tokens_, names_) {}

  Program Run() {
    Program program;
    program.body = Body({});
    program.special = {names_.Index("loop"), names_.Index("caller"), names_.Index("varargs"),
                       names_.Index("kwargs")};
    program.names = names_.Take();
    CheckNames(&program);
    return program;
  }

 private:
  using StmtPtr = std::unique_ptr<Stmt>;

  StmtPtr Make(StmtKind kind) const {
    auto node = std::make_unique<Stmt>();
    node->kind = kind;
    node->line = tokens_.Current().line;
    return node;
  }

  // Statements up to a tag of one of these names (whose name is then the current token), or to the end.
  Block Body(EndNames ends) {
    if (++depth_ > kMaxBlockDepth)
      Fail("the template nests statements deeper than {} levels", kMaxBlockDepth);
    Block body;
    for (;;) {
      if (tokens_.At(TokenKind::kEnd)) {
        if (ends.size() != 0) tokens_.FailExpected(fmt::format("the tag '{}'", *(ends.end() - 1)));
        break;
      }
      if (tokens_.At(TokenKind::kData) || tokens_.At(TokenKind::kVariableBegin)) {
        body.push_back(Output());
        continue;
      }
      tokens_.Expect(TokenKind::kBlockBegin, "a tag");
      const bool at_end =
          std::any_of(ends.begin(), ends.end(), [this](auto name) { return tokens_.AtName(name); });
      if (at_end) break;
      body.push_back(Statement());
      tokens_.Expect(TokenKind::kBlockEnd, "'%}'");
    }
    --depth_;
    return body;
  }

  // The body of a tag: from the end of its opening to the tag that closes it, which is consumed.
  Block TagBody(std::string_view end) {
    Block body = OpenBody({end});
    tokens_.Next();
    return body;
  }
  Block OpenBody(EndNames ends) {
    tokens_.SkipOperator(":");
    tokens_.Expect(TokenKind::kBlockEnd, "'%}'");
    return Body(ends);
  }

  StmtPtr Output() {
    StmtPtr node = Make(StmtKind::kOutput);
    for (;;) {
      if (tokens_.At(TokenKind::kData)) {
        const Token& data = tokens_.Next();
        node->exprs.push_back(
            expressions_.Constant(Value::Of(Text::Make(data.text, false, nullptr)), data.line));
      } else if (tokens_.At(TokenKind::kVariableBegin)) {
        tokens_.Next();
        node->exprs.push_back(expressions_.Tuple());
        tokens_.Expect(TokenKind::kVariableEnd, "'}}'");
      } else {
        return node;
      }
    }
  }

  StmtPtr Statement() {
    if (!tokens_.At(TokenKind::kName)) tokens_.FailExpected("the name of a tag");
    struct Tag {
      std::string_view name;
      StmtPtr (StatementParser::*parse)();
    };
    static constexpr std::array<Tag, 11> kTags = {{{"if", &StatementParser::If},
                                                   {"for", &StatementParser::For},
                                                   {"set", &StatementParser::Set},
                                                   {"macro", &StatementParser::Macro},
                                                   {"call", &StatementParser::CallBlock},
                                                   {"filter", &StatementParser::FilterBlock},
                                                   {"with", &StatementParser::With},
                                                   {"print", &StatementParser::Print},
                                                   {"generation", &StatementParser::Generation},
                                                   {"break", &StatementParser::LoopControl},
                                                   {"continue", &StatementParser::LoopControl}}};
    for (const Tag& tag : kTags) {
      if (tokens_.AtName(tag.name)) return (this->*tag.parse)();
    }
    static constexpr std::array<std::string_view, 6> kRefused = {"include", "import", "from",
                                                                 "extends", "block",  "autoescape"};
    const Token& token = tokens_.Current();
    if (std::find(kRefused.begin(), kRefused.end(), token.text) != kRefused.end()) {
      throw Failure{
          StatusCode::kUnimplemented,
          fmt::format("line {}: the tag '{}' is not supported in chat templates", token.line, token.text)};
    }
    Fail("line {}: unknown tag '{}'", token.line, token.text);
  }

  Target AssignTarget(bool with_attribute) {
    std::vector<Target> parts;
    bool is_tuple = false;
    for (;;) {
      if (!parts.empty() && !tokens_.At(TokenKind::kName) && !tokens_.AtOperator("(")) break;
      if (parts.size() == 1 && tokens_.AtName("in")) break;
      parts.push_back(OneTarget(with_attribute));
      if (!tokens_.SkipOperator(",")) break;
      is_tuple = true;
    }
    if (!is_tuple) return std::move(parts.front());
    Target tuple;
    tuple.is_tuple = true;
    tuple.parts = std::move(parts);
    return tuple;
  }

  Target OneTarget(bool with_attribute) {
    if (tokens_.SkipOperator("(")) {
      if (++depth_ > kMaxBlockDepth) Fail("the template nests deeper than {} levels", kMaxBlockDepth);
      Target target = AssignTarget(with_attribute);
      --depth_;
      tokens_.ExpectOperator(")");
      return target;
    }
    const Token& token = tokens_.Expect(TokenKind::kName, "a name to assign to");
    static constexpr std::array<std::string_view, 6> kReserved = {"true", "false", "none",
                                                                  "True", "False", "None"};
    if (std::find(kReserved.begin(), kReserved.end(), token.text) != kReserved.end()) {
      Fail("line {}: cannot assign to {}", token.line, token.text);
    }
    Target target;
    target.text = token.text;
    target.name = names_.Index(token.text);
    if (with_attribute && tokens_.SkipOperator(".")) {
      target.attribute = tokens_.Expect(TokenKind::kName, "the name of an attribute").text;
    }
    return target;
  }

  Parameter NameParameter() {
    const Target target = OneTarget(false);
    if (target.is_tuple) tokens_.FailExpected("a name");
    return {target.name, target.text};
  }

  StmtPtr If() {
    StmtPtr node = Make(StmtKind::kIf);
    do {
      tokens_.Next();
      node->exprs.push_back(expressions_.Tuple(false));
      node->bodies.push_back(OpenBody({"elif", "else", "endif"}));
    } while (tokens_.AtName("elif"));
    if (tokens_.Next().text == "else") node->bodies.push_back(TagBody("endif"));
    return node;
  }

  StmtPtr For() {
    StmtPtr node = Make(StmtKind::kFor);
    tokens_.Next();
    node->target = AssignTarget(false);
    tokens_.ExpectName("in");
    node->exprs.push_back(expressions_.Tuple(false, "recursive"));
    node->exprs.push_back(tokens_.SkipName("if") ? expressions_.Expression() : nullptr);
    node->recursive = tokens_.SkipName("recursive");
    ++loops_;
    node->bodies.push_back(OpenBody({"else", "endfor"}));
    --loops_;
    node->bodies.push_back(tokens_.Next().text == "else" ? TagBody("endfor") : Block{});
    return node;
  }

  StmtPtr Set() {
    StmtPtr node = Make(StmtKind::kSet);
    tokens_.Next();
    node->target = AssignTarget(true);
    if (tokens_.SkipOperator("=")) {
      node->exprs.push_back(expressions_.Tuple());
      return node;
    }
    node->kind = StmtKind::kSetBlock;
    node->exprs.push_back(expressions_.Filters(nullptr));
    node->bodies.push_back(TagBody("endset"));
    return node;
  }

  void Signature(Stmt* node) {
    tokens_.ExpectOperator("(");
    while (!tokens_.AtOperator(")")) {
      if (!node->params.empty()) tokens_.ExpectOperator(",");
      node->params.push_back(NameParameter());
      if (tokens_.SkipOperator("=")) {
        node->exprs.push_back(expressions_.Expression());
      } else if (!node->exprs.empty()) {
        Fail("line {}: an argument without a default follows one with a default", tokens_.Current().line);
      }
    }
    tokens_.ExpectOperator(")");
  }

  // break and continue reach no further out than the macro.
  void MacroBody(Stmt* node, std::string_view end) {
    const int loops = std::exchange(loops_, 0);
    node->bodies.push_back(TagBody(end));
    loops_ = loops;
  }

  StmtPtr Macro() {
    StmtPtr node = Make(StmtKind::kMacro);
    tokens_.Next();
    const Parameter name = NameParameter();
    node->target.name = name.name;
    node->target.text = name.text;
    Signature(node.get());
    MacroBody(node.get(), "endmacro");
    return node;
  }

  StmtPtr CallBlock() {
    StmtPtr node = Make(StmtKind::kCallBlock);
    tokens_.Next();
    if (tokens_.AtOperator("(")) Signature(node.get());
    ExprPtr call = expressions_.Expression();
    if (call->kind != ExprKind::kCall) Fail("line {}: the call tag needs a call", node->line);
    node->exprs.push_back(std::move(call));
    node->target.text = "caller";
    MacroBody(node.get(), "endcall");
    return node;
  }

  StmtPtr FilterBlock() {
    StmtPtr node = Make(StmtKind::kFilter);
    tokens_.Next();
    node->exprs.push_back(expressions_.Filters(nullptr, true));
    node->bodies.push_back(TagBody("endfilter"));
    return node;
  }

  StmtPtr With() {
    StmtPtr node = Make(StmtKind::kWith);
    tokens_.Next();
    while (!tokens_.At(TokenKind::kBlockEnd)) {
      if (!node->params.empty()) tokens_.ExpectOperator(",");
      node->params.push_back(NameParameter());
      tokens_.ExpectOperator("=");
      node->exprs.push_back(expressions_.Expression());
    }
    node->bodies.push_back(TagBody("endwith"));
    return node;
  }

  StmtPtr Print() {
    StmtPtr node = Make(StmtKind::kOutput);
    tokens_.Next();
    while (!tokens_.At(TokenKind::kBlockEnd)) {
      if (!node->exprs.empty()) tokens_.ExpectOperator(",");
      node->exprs.push_back(expressions_.Expression());
    }
    return node;
  }

  StmtPtr Generation() {
    StmtPtr node = Make(StmtKind::kScope);
    tokens_.Next();
    node->bodies.push_back(TagBody("endgeneration"));
    return node;
  }

  StmtPtr LoopControl() {
    const Token& token = tokens_.Current();
    if (loops_ == 0) Fail("line {}: '{}' outside of a loop", token.line, token.text);
    StmtPtr node = Make(token.text == "break" ? StmtKind::kBreak : StmtKind::kContinue);
    tokens_.Next();
    return node;
  }

  TokenStream tokens_;
  NameTable names_;
  ExpressionParser expressions_;
  int depth_ = 0;
  int loops_ = 0;
};

}  // namespace

Program ParseProgram(std::string_view source) {
  if (source.size() > kMaxTemplateBytes) {
    throw Failure{
        StatusCode::kResourceExhausted,
        fmt::format("the template has {} bytes; at most {} are read", source.size(), kMaxTemplateBytes)};
  }
  return StatementParser(source).Run();
}

}  // namespace firebrick::jinja
