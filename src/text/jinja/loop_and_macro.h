// The two callable things that the interpreter itself makes.
#pragma once

#include <algorithm>
#include <string_view>

#include "text/jinja/interpreter.h"
#include "text/jinja/operations.h"

namespace firebrick::jinja {

class Macro final : public Object {
 public:
  Macro(Interpreter& interpreter, const Stmt& stmt, ScopePtr defined_in)
      : interpreter_(interpreter), stmt_(stmt), defined_in_(std::move(defined_in)) {}
  std::string_view TypeName() const override { return "Macro"; }
  bool Callable() const override { return true; }
  Value Call(Context&, const Args& args) override { return interpreter_.CallMacro(stmt_, defined_in_, args); }
  std::optional<Value> Attribute(Context& context, std::string_view name) const override {
    return name == "name" ? std::optional(context.Str(stmt_.target.text)) : std::nullopt;
  }

 private:
  Interpreter& interpreter_;
  const Stmt& stmt_;
  ScopePtr defined_in_;
};

// The variable `loop`.
class Loop final : public Object {
 public:
  Loop(Interpreter& interpreter, const Stmt& stmt, ScopePtr outer, ListPtr items, int level)
      : interpreter_(interpreter),
        stmt_(stmt),
        outer_(std::move(outer)),
        items_(std::move(items)),
        level_(level) {
    Contain(Value::Of(items_));
  }
  std::string_view TypeName() const override { return "LoopContext"; }
  bool Callable() const override { return true; }
  Value Call(Context&, const Args& args) override {
    return interpreter_.CallLoop(stmt_, outer_, args, level_ + 1);
  }
  std::optional<Value> Attribute(Context& context, std::string_view name) const override;
  void MoveTo(size_t index) { index_ = index; }
  Value Item() const { return items_->items[index_]; }
  size_t size() const { return items_->items.size(); }
  Value Cycle(const Args& args) const;
  Value Changed(Context& context, const Args& args);

 private:
  Interpreter& interpreter_;
  const Stmt& stmt_;
  ScopePtr outer_;
  ListPtr items_;
  int level_;
  size_t index_ = 0;
  Value last_changed_;  // undefined before the first call of changed()
};

}  // namespace firebrick::jinja
