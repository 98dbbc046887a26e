// Values with behaviour: functions, methods, namespaces, ranges, views of dicts, generators.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/context.h"

namespace firebrick::jinja {

using FunctionFn = Value (*)(Context&, const Args&);
using MethodFn = Value (*)(Context&, const Value& self, const Args&);

class Function final : public Object {
 public:
  explicit Function(FunctionFn function) : function_(function) {}
  std::string_view TypeName() const override { return "function"; }
  bool Callable() const override { return true; }
  Value Call(Context& context, const Args& args) override { return function_(context, args); }

 private:
  FunctionFn function_;
};

class BoundMethod final : public Object {
 public:
  BoundMethod(Value self, MethodFn method) : self_(std::move(self)), method_(method) { Contain(self_); }
  std::string_view TypeName() const override { return "builtin_function_or_method"; }
  bool Callable() const override { return true; }
  Value Call(Context& context, const Args& args) override { return method_(context, self_, args); }

 private:
  Value self_;
  MethodFn method_;
};

// The only thing that a template can change. Owned by the Context as well.
class Namespace final : public Object, public Clearable {
 public:
  std::string_view TypeName() const override { return "Namespace"; }
  std::optional<Value> Attribute(Context&, std::string_view name) const override;
  void Repr(Context& context, TextBuilder* out) const override;
  void Set(Context& context, std::string_view name, Value value);
  void Clear() override { attributes_.clear(); }

 private:
  std::vector<std::pair<std::string, Value>> attributes_;
};

class Range final : public Object {
 public:
  Range(Int start, Int stop, Int step);
  std::string_view TypeName() const override { return "range"; }
  bool Truthy(Context&) const override { return size_ > 0; }
  std::optional<size_t> Length(Context&) const override { return size_; }
  bool Iterable() const override { return true; }
  bool Subscriptable() const override { return true; }
  ListPtr Items(Context& context) override;
  void Repr(Context&, TextBuilder* out) const override;
  Value At(size_t index) const { return Value::Of(start_ + step_ * static_cast<Int>(index)); }

 private:
  Int start_, stop_, step_;
  size_t size_ = 0;
};

class DictView final : public Object {
 public:
  enum class Kind : uint8_t { kKeys, kValues, kItems };
  DictView(Value dict, Kind kind) : dict_(std::move(dict)), kind_(kind) { Contain(dict_); }
  std::string_view TypeName() const override;
  bool Truthy(Context&) const override { return !dict_.dict()->items.empty(); }
  std::optional<size_t> Length(Context&) const override { return dict_.dict()->items.size(); }
  bool Iterable() const override { return true; }
  ListPtr Items(Context& context) override;
  void Repr(Context& context, TextBuilder* out) const override;

 private:
  ListPtr List(Context& context) const;
  Value dict_;
  Kind kind_;
};

// Yields what `make` returns, once; `make` runs at the first use.
class Generator final : public Object {
 public:
  using Make = std::function<ListPtr(Context&)>;
  Generator(Make make, const Value& source, const Args& args);
  std::string_view TypeName() const override { return "generator"; }
  bool Iterable() const override { return true; }
  ListPtr Items(Context& context) override;
  std::optional<Value> Next(Context& context);

 private:
  void Start(Context& context);
  Make make_;
  ListPtr items_;
  size_t at_ = 0;
};

class Cycler final : public Object {
 public:
  explicit Cycler(std::vector<Value> items);
  std::string_view TypeName() const override { return "Cycler"; }
  const Value& Current() const { return items_[at_]; }
  Value Next() { return items_[std::exchange(at_, (at_ + 1) % items_.size())]; }
  void Reset() { at_ = 0; }

 private:
  std::vector<Value> items_;
  size_t at_ = 0;
};

// Nothing at the first call, the separator at all others.
class Joiner final : public Object {
 public:
  explicit Joiner(Value separator) : separator_(std::move(separator)) { Contain(separator_); }
  std::string_view TypeName() const override { return "Joiner"; }
  bool Callable() const override { return true; }
  Value Call(Context& context, const Args& args) override;

 private:
  Value separator_;
  bool used_ = false;
};

}  // namespace firebrick::jinja
