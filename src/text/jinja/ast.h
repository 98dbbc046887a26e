// The program that a template parses to. Const after parsing; shared by all renderings.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace firebrick::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Block = std::vector<std::unique_ptr<Stmt>>;

enum class ExprKind : uint8_t {
  kConst,      // constant
  kName,       // name
  kAttribute,  // operands[0].text
  kItem,       // operands[0][operands[1]]
  kSlice,      // operands[0][operands[1]:operands[2]:operands[3]], null where left out
  kCall,       // operands[0](args)
  kFilter,     // operands[0]|text(args)
  kTest,       // operands[0] is text(args)
  kNot,
  kNegate,
  kPlus,
  kBinary,  // operands[0] op operands[1]
  kConcat,  // operands joined by ~
  kAnd,
  kOr,
  kCompare,  // operands[0] ops[0] operands[1] ops[1] operands[2] …
  kChoose,   // operands[1] if operands[0] else operands[2] (null where left out)
  kList,
  kTuple,
  kDict,  // operands: key, value, key, value, …
};

enum class Op : uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kFloorDiv,
  kMod,
  kPow,
  kEq,
  kNe,
  kLt,
  kLe,
  kGt,
  kGe,
  kIn,
  kNotIn
};

struct CallArgs {
  std::vector<ExprPtr> positional;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star;         // *list
  ExprPtr double_star;  // **dict
};

using FilterFn = Value (*)(Context&, const Value& input, const Args& args);
using TestFn = bool (*)(Context&, const Value& input, const Args& args);

struct Expr {
  ExprKind kind = ExprKind::kConst;
  Op op = Op::kAdd;
  int line = 0;
  int depth = 1;     // of this tree; bounded by the parser
  int name = -1;     // kName: index into Program::names
  std::string text;  // name of an attribute, filter, test, or of the variable
  Value constant;
  std::vector<ExprPtr> operands;
  std::vector<Op> ops;
  CallArgs args;
  FilterFn filter = nullptr;  // kFilter: null where there is none of that name
  TestFn test = nullptr;      // kTest: the same
};

enum class StmtKind : uint8_t {
  kOutput,     // exprs printed; template data is a constant among them
  kIf,         // exprs[i] guards bodies[i]; one body more is the else
  kFor,        // target in exprs[0], exprs[1] an optional filter; bodies: loop, else
  kSet,        // target = exprs[0]
  kSetBlock,   // target = bodies[0] through the filters exprs[0], if any, whose innermost input is null
  kFilter,     // bodies[0] through exprs[0], the same
  kWith,       // params[i] = exprs[i] in bodies[0]
  kMacro,      // params, defaults in exprs (for the last ones), bodies[0]
  kCallBlock,  // exprs.back() is the call; params and the other exprs as in kMacro
  kScope,      // bodies[0] in a scope of its own (generation)
  kBreak,
  kContinue,
};

// Where a value is assigned: a name, an attribute of a namespace, or a tuple of targets.
struct Target {
  int name = -1;
  std::string text;       // the name
  std::string attribute;  // not empty: text.attribute = …
  std::vector<Target> parts;
  bool is_tuple = false;
};

struct Parameter {
  int name = -1;
  std::string text;
};

struct Stmt {
  StmtKind kind = StmtKind::kOutput;
  int line = 0;
  Target target;
  std::vector<ExprPtr> exprs;
  std::vector<Block> bodies;
  std::vector<Parameter> params;
  bool recursive = false;     // kFor
  bool uses_varargs = false;  // kMacro, kCallBlock: the body names them
  bool uses_kwargs = false;
  bool uses_caller = false;
};

// Names that the interpreter itself sets: their indices in Program::names.
struct SpecialNames {
  int loop = -1, caller = -1, varargs = -1, kwargs = -1;
};

struct Program {
  std::vector<std::string> names;  // every name that the template reads or sets
  SpecialNames special;
  Block body;
};

}  // namespace firebrick::jinja
