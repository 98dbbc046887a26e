// Runs a Program. Thread: one rendering, one thread; the Program is shared.
#pragma once

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/objects.h"

namespace firebrick::jinja {

// The variables of a block. Reads go up to the parents, writes stay.
struct Scope final : public Clearable {
  explicit Scope(std::shared_ptr<Scope> outer) : parent(std::move(outer)) {}
  const Value* Find(int name) const;
  void Set(int name, Value value);
  void Clear() override { variables.clear(); }

  std::shared_ptr<Scope> parent;
  std::vector<std::pair<int, Value>> variables;
  bool captured = false;  // a macro refers to it: the Context owns it as well
};
using ScopePtr = std::shared_ptr<Scope>;

class Interpreter {
 public:
  Interpreter(const Program& program, Context& context, TextBuilder* out);
  // What the caller of the template provides; only names that the program uses matter.
  void Provide(int name, Value value) { scope_->Set(name, std::move(value)); }
  void Run();

 private:
  friend class Macro;
  friend class Loop;
  enum class Flow : uint8_t { kNext, kBreak, kContinue };

  Flow Exec(const Block& block);
  Flow Exec(const Stmt& stmt);
  Flow ExecIf(const Stmt& stmt);
  Flow ExecScoped(const Stmt& stmt);
  void ExecFor(const Stmt& stmt);
  void ExecSetBlock(const Stmt& stmt);
  Flow ExecFilterBlock(const Stmt& stmt);
  Flow ExecWith(const Stmt& stmt);
  void ExecMacro(const Stmt& stmt);
  void ExecCallBlock(const Stmt& stmt);
  void RunLoop(const Stmt& stmt, const Value& iterable, int depth);
  ListPtr FilterItems(const Stmt& stmt, const ListPtr& items);
  void Assign(const Target& target, const Value& value);
  Value MakeMacro(const Stmt& stmt);
  Value CallMacro(const Stmt& stmt, const ScopePtr& defined_in, const Args& args);
  void BindMacro(const Stmt& stmt, const Args& args);
  Value CallLoop(const Stmt& stmt, const ScopePtr& outer, const Args& args, int depth);

  Value Eval(const Expr& expr);
  Value EvalName(const Expr& expr);
  Value EvalFilter(const Expr& expr);
  Value EvalCompare(const Expr& expr);
  Value EvalConcat(const Expr& expr);
  Value EvalDict(const Expr& expr);
  Value EvalSlice(const Expr& expr);
  std::vector<Value> EvalAll(const Expr& expr);
  Args EvalArgs(const CallArgs& args);
  Value EvalCall(const Expr& expr, const Value* caller);
  // Runs `body` with output going to a text of its own.
  template <typename Body>
  TextPtr Capture(Body body);

  const Program& program_;
  Context& context_;
  TextBuilder* out_;
  ScopePtr scope_;
  Value block_input_;  // what the innermost filter of a filter or set block reads
};

}  // namespace firebrick::jinja
