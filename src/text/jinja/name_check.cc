#include "text/jinja/name_check.h"

#include "text/jinja/builtins.h"

namespace firebrick::jinja {
namespace {

class NameChecker {
 public:
  explicit NameChecker(const SpecialNames& special) : special_(special) {}

  void Check(Block* block, bool soft) {
    for (auto& stmt : *block) Check(stmt.get(), soft);
  }

 private:
  // `soft` is Jinja's: directly under an if or a choice, with no loop or macro between.
  void Check(Stmt* stmt, bool soft) {
    switch (stmt->kind) {
      case StmtKind::kIf:
        CheckExprs(stmt, true);
        CheckBodies(stmt, true);
        return;
      case StmtKind::kMacro:
      case StmtKind::kCallBlock: {
        CheckExprs(stmt, soft);
        Stmt* outer = macro_;
        macro_ = stmt;
        CheckBodies(stmt, false);
        macro_ = outer;
        return;
      }
      case StmtKind::kOutput:
      case StmtKind::kSet:
      case StmtKind::kBreak:
      case StmtKind::kContinue:
        CheckExprs(stmt, soft);
        return;
      default:
        CheckExprs(stmt, stmt->kind == StmtKind::kFor && soft);
        CheckBodies(stmt, false);
    }
  }

  void CheckExprs(Stmt* stmt, bool soft) {
    for (const ExprPtr& expr : stmt->exprs) Check(expr.get(), soft);
  }
  void CheckBodies(Stmt* stmt, bool soft) {
    for (Block& body : stmt->bodies) Check(&body, soft);
  }

  void Check(Expr* expr, bool soft) {
    if (expr == nullptr) return;
    if (expr->kind == ExprKind::kChoose) soft = true;
    if (expr->kind == ExprKind::kFilter) {
      expr->filter = FindFilter(expr->text);
      if (expr->filter == nullptr && !soft) Fail("line {}: no filter named '{}'", expr->line, expr->text);
    }
    if (expr->kind == ExprKind::kTest) {
      expr->test = FindTest(expr->text);
      if (expr->test == nullptr && !soft) Fail("line {}: no test named '{}'", expr->line, expr->text);
    }
    if (expr->kind == ExprKind::kName && macro_ != nullptr) NoteUse(expr->name);
    for (const ExprPtr& operand : expr->operands) Check(operand.get(), soft);
    for (const ExprPtr& arg : expr->args.positional) Check(arg.get(), soft);
    for (const auto& [name, arg] : expr->args.keywords) Check(arg.get(), soft);
    Check(expr->args.star.get(), soft);
    Check(expr->args.double_star.get(), soft);
  }

  void NoteUse(int name) {
    macro_->uses_varargs |= name == special_.varargs;
    macro_->uses_kwargs |= name == special_.kwargs;
    macro_->uses_caller |= name == special_.caller;
  }

  const SpecialNames special_;
  Stmt* macro_ = nullptr;
};

}  // namespace

void CheckNames(Program* program) { NameChecker(program->special).Check(&program->body, false); }

}  // namespace firebrick::jinja
