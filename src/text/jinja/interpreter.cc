#include "text/jinja/interpreter.h"

#include <algorithm>

#include "text/jinja/builtins.h"
#include "text/jinja/loop_and_macro.h"
#include "text/jinja/operations.h"

namespace firebrick::jinja {

const Value* Scope::Find(int name) const {
  for (const Scope* scope = this; scope != nullptr; scope = scope->parent.get()) {
    for (const auto& [held, value] : scope->variables) {
      if (held == name) return &value;
    }
  }
  return nullptr;
}

void Scope::Set(int name, Value value) {
  for (auto& [held, old] : variables) {
    if (held == name) {
      old = std::move(value);
      return;
    }
  }
  variables.emplace_back(name, std::move(value));
}

std::optional<Value> Loop::Attribute(Context&, std::string_view name) const {
  const auto index = static_cast<Int>(index_);
  const auto size = static_cast<Int>(items_->items.size());
  if (name == "index") return Value::Of(index + 1);
  if (name == "index0") return Value::Of(index);
  if (name == "revindex") return Value::Of(size - index);
  if (name == "revindex0") return Value::Of(size - index - 1);
  if (name == "first") return Value::Of(index == 0);
  if (name == "last") return Value::Of(index + 1 == size);
  if (name == "length") return Value::Of(size);
  if (name == "depth") return Value::Of(Int{level_} + 1);
  if (name == "depth0") return Value::Of(Int{level_});
  if (name == "previtem") {
    return index == 0 ? Value::MakeUndefined("there is no previous item") : items_->items[index_ - 1];
  }
  if (name == "nextitem") {
    return index + 1 == size ? Value::MakeUndefined("there is no next item") : items_->items[index_ + 1];
  }
  return std::nullopt;
}

Value Loop::Cycle(const Args& args) const {
  if (args.positional.empty()) Fail("no items for cycling given");
  return args.positional[index_ % args.positional.size()];
}

Value Loop::Changed(Context& context, const Args& args) {
  Value now = context.NewTuple(args.positional);
  const bool changed = last_changed_.is_undefined() || !Equal(context, last_changed_, now);
  if (changed) {
    Contain(now);
    last_changed_ = std::move(now);
  }
  return Value::Of(changed);
}

Interpreter::Interpreter(const Program& program, Context& context, TextBuilder* out)
    : program_(program), context_(context), out_(out), scope_(std::make_shared<Scope>(nullptr)) {}

void Interpreter::Run() {
  scope_ = std::make_shared<Scope>(scope_);
  Exec(program_.body);
}

template <typename Body>
TextPtr Interpreter::Capture(Body body) {
  TextBuilder text(&context_.budget());
  TextBuilder* const outer = std::exchange(out_, &text);
  body();
  out_ = outer;
  return text.Build();
}

Interpreter::Flow Interpreter::Exec(const Block& block) {
  for (const auto& stmt : block) {
    const Flow flow = Exec(*stmt);
    if (flow != Flow::kNext) return flow;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::Exec(const Stmt& stmt) {
  const Budget::Level level(context_.budget());
  context_.budget().Step();
  switch (stmt.kind) {
    case StmtKind::kOutput:
      for (const ExprPtr& expr : stmt.exprs) {
        if (expr->kind == ExprKind::kConst) {
          AppendStr(context_, expr->constant, out_);
        } else {
          AppendStr(context_, Eval(*expr), out_);
        }
      }
      return Flow::kNext;
    case StmtKind::kIf:
      return ExecIf(stmt);
    case StmtKind::kFor:
      ExecFor(stmt);
      return Flow::kNext;
    case StmtKind::kSet:
      Assign(stmt.target, Eval(*stmt.exprs[0]));
      return Flow::kNext;
    case StmtKind::kSetBlock:
      ExecSetBlock(stmt);
      return Flow::kNext;
    case StmtKind::kFilter:
      return ExecFilterBlock(stmt);
    case StmtKind::kWith:
      return ExecWith(stmt);
    case StmtKind::kMacro:
      ExecMacro(stmt);
      return Flow::kNext;
    case StmtKind::kCallBlock:
      ExecCallBlock(stmt);
      return Flow::kNext;
    case StmtKind::kScope:
      return ExecScoped(stmt);
    case StmtKind::kBreak:
      return Flow::kBreak;
    case StmtKind::kContinue:
      return Flow::kContinue;
  }
  return Flow::kNext;
}

Interpreter::Flow Interpreter::ExecIf(const Stmt& stmt) {
  for (size_t i = 0; i < stmt.exprs.size(); ++i) {
    if (Truthy(context_, Eval(*stmt.exprs[i]))) return Exec(stmt.bodies[i]);
  }
  return stmt.bodies.size() > stmt.exprs.size() ? Exec(stmt.bodies.back()) : Flow::kNext;
}

Interpreter::Flow Interpreter::ExecScoped(const Stmt& stmt) {
  const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>(scope_));
  const Flow flow = Exec(stmt.bodies[0]);
  scope_ = outer;
  return flow;
}

void Interpreter::ExecFor(const Stmt& stmt) { RunLoop(stmt, Eval(*stmt.exprs[0]), 0); }

ListPtr Interpreter::FilterItems(const Stmt& stmt, const ListPtr& items) {
  std::vector<Value> kept;
  const ScopePtr outer = scope_;
  for (const Value& item : items->items) {
    context_.budget().Step();
    scope_ = std::make_shared<Scope>(outer);
    Assign(stmt.target, item);
    if (Truthy(context_, Eval(*stmt.exprs[1]))) kept.push_back(item);
  }
  scope_ = outer;
  return MakeList(std::move(kept), &context_.budget());
}

void Interpreter::RunLoop(const Stmt& stmt, const Value& iterable, int depth) {
  ListPtr items = Items(context_, iterable);
  if (stmt.exprs[1] != nullptr) items = FilterItems(stmt, items);
  const ScopePtr outer = scope_;
  if (items->items.empty()) {
    scope_ = std::make_shared<Scope>(outer);
    Exec(stmt.bodies[1]);
    scope_ = outer;
    return;
  }
  auto loop = std::make_shared<Loop>(*this, stmt, outer, std::move(items), depth);
  for (size_t i = 0; i < loop->size(); ++i) {
    context_.budget().Step();
    loop->MoveTo(i);
    scope_ = std::make_shared<Scope>(outer);
    scope_->Set(program_.special.loop, Value::Of(ObjectPtr(loop)));
    Assign(stmt.target, loop->Item());
    if (Exec(stmt.bodies[0]) == Flow::kBreak) break;
  }
  scope_ = outer;
}

void Interpreter::ExecSetBlock(const Stmt& stmt) {
  const TextPtr text = Capture([&] { ExecScoped(stmt); });
  Value value = Value::Of(text);
  if (stmt.exprs[0] != nullptr) {
    block_input_ = std::move(value);
    value = Eval(*stmt.exprs[0]);
  }
  Assign(stmt.target, value);
}

Interpreter::Flow Interpreter::ExecFilterBlock(const Stmt& stmt) {
  Flow flow = Flow::kNext;
  block_input_ = Value::Of(Capture([&] { flow = ExecScoped(stmt); }));
  if (flow == Flow::kNext) AppendStr(context_, Eval(*stmt.exprs[0]), out_);
  return flow;
}

Interpreter::Flow Interpreter::ExecWith(const Stmt& stmt) {
  const ScopePtr outer = scope_;
  const auto inner = std::make_shared<Scope>(outer);
  for (size_t i = 0; i < stmt.params.size(); ++i) inner->Set(stmt.params[i].name, Eval(*stmt.exprs[i]));
  scope_ = inner;
  const Flow flow = Exec(stmt.bodies[0]);
  scope_ = outer;
  return flow;
}

void Interpreter::Assign(const Target& target, const Value& value) {
  context_.budget().Step();
  if (target.is_tuple) {
    const ListPtr items = Items(context_, value);
    if (items->items.size() != target.parts.size()) {
      Fail("cannot unpack {} values into {} names", items->items.size(), target.parts.size());
    }
    for (size_t i = 0; i < target.parts.size(); ++i) Assign(target.parts[i], items->items[i]);
    return;
  }
  if (target.attribute.empty()) return scope_->Set(target.name, value);
  const Value* held = scope_->Find(target.name);
  Namespace* space = held == nullptr ? nullptr : held->As<Namespace>();
  if (space == nullptr) Fail("cannot assign attribute on non-namespace object '{}'", target.text);
  space->Set(context_, target.attribute, value);
}

Value Interpreter::MakeMacro(const Stmt& stmt) {
  for (ScopePtr scope = scope_; scope != nullptr && !scope->captured; scope = scope->parent) {
    scope->captured = true;
    context_.Own(scope);
  }
  return context_.NewObject<Macro>(*this, stmt, scope_);
}

void Interpreter::ExecMacro(const Stmt& stmt) { scope_->Set(stmt.target.name, MakeMacro(stmt)); }

void Interpreter::ExecCallBlock(const Stmt& stmt) {
  const Value caller = MakeMacro(stmt);
  AppendStr(context_, EvalCall(*stmt.exprs.back(), &caller), out_);
}

void Interpreter::BindMacro(const Stmt& stmt, const Args& args) {
  const size_t num_params = stmt.params.size();
  const size_t num_defaults = stmt.exprs.size() - (stmt.kind == StmtKind::kCallBlock ? 1 : 0);
  std::vector<std::pair<std::string, Value>> rest = args.keywords;
  Value caller = Value::MakeUndefined("No caller defined");
  std::vector<std::optional<Value>> given(num_params);
  for (size_t i = 0; i < num_params; ++i) {
    const auto named =
        std::find_if(rest.begin(), rest.end(), [&](const auto& k) { return k.first == stmt.params[i].text; });
    if (i < args.positional.size()) {
      if (named != rest.end())
        Fail("macro '{}' got two values for '{}'", stmt.target.text, stmt.params[i].text);
      given[i] = args.positional[i];
    } else if (named != rest.end()) {
      given[i] = std::move(named->second);
      rest.erase(named);
    }
  }
  if (stmt.uses_caller) {
    const auto named =
        std::find_if(rest.begin(), rest.end(), [](const auto& k) { return k.first == "caller"; });
    if (named != rest.end()) {
      caller = std::move(named->second);
      rest.erase(named);
    }
  }
  if (!rest.empty() && !stmt.uses_kwargs) {
    Fail("macro '{}' takes no keyword argument '{}'", stmt.target.text, rest.front().first);
  }
  if (args.positional.size() > num_params && !stmt.uses_varargs) {
    Fail("macro '{}' takes not more than {} argument(s)", stmt.target.text, num_params);
  }
  if (stmt.uses_caller) scope_->Set(program_.special.caller, caller);
  if (stmt.uses_kwargs) {
    std::vector<Dict::Item> items;
    for (auto& [name, value] : rest) items.emplace_back(context_.Str(name), std::move(value));
    scope_->Set(program_.special.kwargs, context_.NewDict(std::move(items)));
  }
  if (stmt.uses_varargs) {
    std::vector<Value> surplus;
    for (size_t i = num_params; i < args.positional.size(); ++i) surplus.push_back(args.positional[i]);
    scope_->Set(program_.special.varargs, context_.NewTuple(std::move(surplus)));
  }
  for (size_t i = 0; i < num_params; ++i) {
    Value value = Value::MakeUndefined(fmt::format("parameter '{}' was not provided", stmt.params[i].text));
    if (given[i].has_value()) {
      value = *std::move(given[i]);
    } else if (i + num_defaults >= num_params) {
      value = Eval(*stmt.exprs[i + num_defaults - num_params]);
    }
    scope_->Set(stmt.params[i].name, std::move(value));
  }
}

Value Interpreter::CallMacro(const Stmt& stmt, const ScopePtr& defined_in, const Args& args) {
  const Budget::Level level(context_.budget());
  context_.budget().Step();
  const ScopePtr outer = std::exchange(scope_, std::make_shared<Scope>(defined_in));
  const TextPtr text = Capture([&] {
    BindMacro(stmt, args);
    Exec(stmt.bodies[0]);
  });
  scope_ = outer;
  return Value::Of(text);
}

Value Interpreter::CallLoop(const Stmt& stmt, const ScopePtr& outer, const Args& args, int depth) {
  if (!stmt.recursive) Fail("The loop must have the 'recursive' marker to be called recursively.");
  const BoundArgs bound("loop", args, {"iterable"}, 1);
  const Budget::Level level(context_.budget());
  const ScopePtr caller_scope = std::exchange(scope_, outer);
  const Value iterable = *bound[0];
  const TextPtr text = Capture([&] { RunLoop(stmt, iterable, depth); });
  scope_ = caller_scope;
  return Value::Of(text);
}

}  // namespace firebrick::jinja
