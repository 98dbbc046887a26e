// The expressions of the interpreter.
#include <algorithm>

#include "text/jinja/builtins.h"
#include "text/jinja/interpreter.h"
#include "text/jinja/loop_and_macro.h"
#include "text/jinja/operations.h"

namespace firebrick::jinja {

Value Interpreter::Eval(const Expr& expr) {
  const Budget::Level level(context_.budget());
  context_.budget().Step();
  switch (expr.kind) {
    case ExprKind::kConst:
      return expr.constant;
    case ExprKind::kName:
      return EvalName(expr);
    case ExprKind::kAttribute:
      return GetAttribute(context_, Eval(*expr.operands[0]), expr.text);
    case ExprKind::kItem: {
      const Value object = Eval(*expr.operands[0]);
      return GetItem(context_, object, Eval(*expr.operands[1]));
    }
    case ExprKind::kSlice:
      return EvalSlice(expr);
    case ExprKind::kCall:
      return EvalCall(expr, nullptr);
    case ExprKind::kFilter:
      return EvalFilter(expr);
    case ExprKind::kTest: {
      if (expr.test == nullptr) Fail("No test named '{}'.", expr.text);
      const Value input = Eval(*expr.operands[0]);
      return Value::Of(expr.test(context_, input, EvalArgs(expr.args)));
    }
    case ExprKind::kNot:
      return Value::Of(!Truthy(context_, Eval(*expr.operands[0])));
    case ExprKind::kNegate:
      return Negate(Eval(*expr.operands[0]));
    case ExprKind::kPlus:
      return Negate(Negate(Eval(*expr.operands[0])));
    case ExprKind::kBinary: {
      const Value left = Eval(*expr.operands[0]);
      return Arithmetic(context_, expr.op, left, Eval(*expr.operands[1]));
    }
    case ExprKind::kConcat:
      return EvalConcat(expr);
    case ExprKind::kAnd: {
      Value left = Eval(*expr.operands[0]);
      return Truthy(context_, left) ? Eval(*expr.operands[1]) : left;
    }
    case ExprKind::kOr: {
      Value left = Eval(*expr.operands[0]);
      return Truthy(context_, left) ? left : Eval(*expr.operands[1]);
    }
    case ExprKind::kCompare:
      return EvalCompare(expr);
    case ExprKind::kChoose:
      if (Truthy(context_, Eval(*expr.operands[0]))) return Eval(*expr.operands[1]);
      if (expr.operands[2] != nullptr) return Eval(*expr.operands[2]);
      return Value::MakeUndefined(fmt::format(
          "the inline if-expression on line {} evaluated to false and no else section was defined.",
          expr.line));
    case ExprKind::kList:
      return context_.NewList(EvalAll(expr));
    case ExprKind::kTuple:
      return context_.NewTuple(EvalAll(expr));
    case ExprKind::kDict:
      return EvalDict(expr);
  }
  return {};
}

Value Interpreter::EvalName(const Expr& expr) {
  if (const Value* value = scope_->Find(expr.name)) return *value;
  Value global = FindGlobal(expr.text);
  return global.is_undefined() ? Value::MakeUndefined(fmt::format("'{}' is undefined", expr.text)) : global;
}

Value Interpreter::EvalSlice(const Expr& expr) {
  const Value object = Eval(*expr.operands[0]);
  Value bounds[3];
  for (int i = 0; i < 3; ++i) {
    const ExprPtr& bound = expr.operands[static_cast<size_t>(i) + 1];
    bounds[i] = bound == nullptr ? Value::MakeNone() : Eval(*bound);
  }
  return GetSlice(context_, object, bounds[0], bounds[1], bounds[2]);
}

Value Interpreter::EvalFilter(const Expr& expr) {
  if (expr.filter == nullptr) Fail("No filter named '{}'.", expr.text);
  const Value input =
      expr.operands[0] == nullptr ? std::exchange(block_input_, Value()) : Eval(*expr.operands[0]);
  return expr.filter(context_, input, EvalArgs(expr.args));
}

Value Interpreter::EvalCompare(const Expr& expr) {
  Value left = Eval(*expr.operands[0]);
  for (size_t i = 0; i < expr.ops.size(); ++i) {
    Value right = Eval(*expr.operands[i + 1]);
    if (!Compare(context_, expr.ops[i], left, right)) return Value::Of(false);
    left = std::move(right);
  }
  return Value::Of(true);
}

Value Interpreter::EvalConcat(const Expr& expr) {
  TextBuilder text(&context_.budget());
  for (const ExprPtr& operand : expr.operands) AppendStr(context_, Eval(*operand), &text);
  return Value::Of(text.Build());
}

std::vector<Value> Interpreter::EvalAll(const Expr& expr) {
  std::vector<Value> values;
  values.reserve(expr.operands.size());
  for (const ExprPtr& operand : expr.operands) values.push_back(Eval(*operand));
  return values;
}

Value Interpreter::EvalDict(const Expr& expr) {
  std::vector<Dict::Item> items;
  for (size_t i = 0; i + 1 < expr.operands.size(); i += 2) {
    Value key = Eval(*expr.operands[i]);
    items.emplace_back(std::move(key), Eval(*expr.operands[i + 1]));
  }
  return context_.NewDict(std::move(items));
}

Args Interpreter::EvalArgs(const CallArgs& args) {
  Args out;
  out.positional.reserve(args.positional.size());
  for (const ExprPtr& arg : args.positional) out.positional.push_back(Eval(*arg));
  for (const auto& [name, arg] : args.keywords) out.keywords.emplace_back(name, Eval(*arg));
  if (args.star != nullptr) {
    const ListPtr items = Items(context_, Eval(*args.star));
    out.positional.insert(out.positional.end(), items->items.begin(), items->items.end());
  }
  if (args.double_star == nullptr) return out;
  const Value named = Eval(*args.double_star);
  if (!named.is_dict()) Fail("the argument after ** must be a mapping, not {}", named.TypeName());
  for (const auto& [key, value] : named.dict()->items) {
    if (!key.is_text()) Fail("keywords must be strings");
    const std::string name(key.text()->bytes());
    const bool doubled = std::any_of(args.keywords.begin(), args.keywords.end(),
                                     [&name](const auto& keyword) { return keyword.first == name; });
    if (doubled) Fail("got multiple values for keyword argument '{}'", name);
    out.keywords.emplace_back(name, value);
  }
  return out;
}

Value Interpreter::EvalCall(const Expr& expr, const Value* caller) {
  const Expr& callee = *expr.operands[0];
  Value function;
  Loop* loop = nullptr;
  if (callee.kind == ExprKind::kAttribute && (callee.text == "cycle" || callee.text == "changed")) {
    function = Eval(*callee.operands[0]);
    loop = function.As<Loop>();
    if (loop == nullptr) function = GetAttribute(context_, function, callee.text);
  } else {
    function = Eval(callee);
  }
  Args args = EvalArgs(expr.args);
  if (caller != nullptr) args.keywords.emplace_back("caller", *caller);
  if (loop != nullptr) return callee.text == "cycle" ? loop->Cycle(args) : loop->Changed(context_, args);
  return CallValue(context_, function, args);
}

}  // namespace firebrick::jinja
