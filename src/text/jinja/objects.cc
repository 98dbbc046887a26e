#include "text/jinja/objects.h"

#include <algorithm>

#include "text/jinja/operations.h"

namespace firebrick::jinja {

BoundArgs::BoundArgs(std::string_view function, const Args& args,
                     std::initializer_list<std::string_view> names, size_t num_required)
    : function_(function), values_(names.size(), nullptr) {
  if (args.positional.size() > names.size()) {
    Fail("{}() takes at most {} arguments ({} given)", function, names.size(), args.positional.size());
  }
  for (size_t i = 0; i < args.positional.size(); ++i) values_[i] = &args.positional[i];
  for (const auto& [name, value] : args.keywords) {
    const auto* found = std::find(names.begin(), names.end(), name);
    if (found == names.end() || name.empty()) Fail("{}() got an unexpected argument '{}'", function, name);
    const Value*& slot = values_[static_cast<size_t>(found - names.begin())];
    if (slot != nullptr) Fail("{}() got two values for the argument '{}'", function, name);
    slot = &value;
  }
  for (size_t i = 0; i < num_required; ++i) {
    if (values_[i] == nullptr) Fail("{}() misses the argument '{}'", function, names.begin()[i]);
  }
}

bool BoundArgs::Flag(Context& context, size_t index, bool otherwise) const {
  return values_[index] == nullptr ? otherwise : Truthy(context, *values_[index]);
}

Int BoundArgs::Integer(size_t index, Int otherwise) const {
  if (values_[index] == nullptr) return otherwise;
  if (!values_[index]->is_integral()) {
    Fail("{}() needs an integer, not '{}'", function_, values_[index]->TypeName());
  }
  return values_[index]->integer();
}

std::optional<Value> Namespace::Attribute(Context&, std::string_view name) const {
  for (const auto& [held, value] : attributes_) {
    if (held == name) return value;
  }
  return std::nullopt;
}

void Namespace::Set(Context& context, std::string_view name, Value value) {
  for (auto& [held, old] : attributes_) {
    if (held == name) {
      old = std::move(value);
      return;
    }
  }
  context.budget().Allocate(sizeof(Value) + name.size() +
                            sizeof(std::string));  // until the end of the rendering
  context.budget().Step(1 + attributes_.size());
  attributes_.emplace_back(std::string(name), std::move(value));
}

void Namespace::Repr(Context& context, TextBuilder* out) const {
  std::vector<Dict::Item> items;
  for (const auto& [name, value] : attributes_) items.emplace_back(context.Str(name), value);
  out->Append("<Namespace ", false);
  AppendRepr(context, context.NewDict(std::move(items)), out);
  out->Append(">", false);
}

Range::Range(Int start, Int stop, Int step) : start_(start), stop_(stop), step_(step) {
  static constexpr Int kMaxRange = 100'000;
  if (step == 0) Fail("range() arg 3 must not be zero");
  const Int span = step > 0 ? stop - start : start - stop;
  const Int stride = step > 0 ? step : -step;
  const Int size = span <= 0 ? 0 : (span + stride - 1) / stride;
  if (size > kMaxRange) Fail("range() of more than {} items is not allowed", kMaxRange);
  size_ = static_cast<size_t>(size);
}

ListPtr Range::Items(Context& context) {
  std::vector<Value> items;
  items.reserve(size_);
  for (size_t i = 0; i < size_; ++i) items.push_back(At(i));
  return MakeList(std::move(items), &context.budget());
}

void Range::Repr(Context&, TextBuilder* out) const {
  out->Append(step_ == 1 ? fmt::format("range({}, {})", start_, stop_)
                         : fmt::format("range({}, {}, {})", start_, stop_, step_),
              false);
}

std::string_view DictView::TypeName() const {
  return kind_ == Kind::kKeys ? "dict_keys" : kind_ == Kind::kValues ? "dict_values" : "dict_items";
}

ListPtr DictView::List(Context& context) const {
  std::vector<Value> items;
  items.reserve(dict_.dict()->items.size());
  for (const auto& [key, value] : dict_.dict()->items) {
    items.push_back(kind_ == Kind::kKeys     ? key
                    : kind_ == Kind::kValues ? value
                                             : context.NewTuple({key, value}));
  }
  return MakeList(std::move(items), &context.budget());
}

ListPtr DictView::Items(Context& context) { return List(context); }

void DictView::Repr(Context& context, TextBuilder* out) const {
  out->Append(TypeName(), false);
  out->Append("(", false);
  AppendRepr(context, Value::Of(List(context)), out);
  out->Append(")", false);
}

Generator::Generator(Make make, const Value& source, const Args& args) : make_(std::move(make)) {
  Contain(source);
  for (const Value& arg : args.positional) Contain(arg);
  for (const auto& [name, arg] : args.keywords) Contain(arg);
}

void Generator::Start(Context& context) {
  if (make_ == nullptr) return;
  const Make make = std::exchange(make_, nullptr);
  items_ = make(context);
}

ListPtr Generator::Items(Context& context) {
  Start(context);
  std::vector<Value> rest;
  if (items_ != nullptr) {
    if (at_ == 0) {
      at_ = items_->items.size();
      return std::exchange(items_, nullptr);
    }
    rest.assign(items_->items.begin() + static_cast<std::ptrdiff_t>(at_), items_->items.end());
    items_ = nullptr;
  }
  return MakeList(std::move(rest), &context.budget());
}

std::optional<Value> Generator::Next(Context& context) {
  Start(context);
  if (items_ == nullptr || at_ >= items_->items.size()) return std::nullopt;
  return items_->items[at_++];
}

Cycler::Cycler(std::vector<Value> items) : items_(std::move(items)) {
  if (items_.empty()) Fail("cycler() needs at least one item");
  for (const Value& item : items_) Contain(item);
}

Value Joiner::Call(Context& context, const Args& args) {
  const BoundArgs bound("joiner", args, {});
  return std::exchange(used_, true) ? separator_ : context.Str("");
}

}  // namespace firebrick::jinja
