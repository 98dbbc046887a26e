// object.name, object[key], object[start:stop:step].
#include <algorithm>
#include <array>

#include "text/jinja/methods.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace firebrick::jinja {
namespace {

Value MissingAttribute(const Value& object, std::string_view name) {
  std::string_view type = object.TypeName();
  return Value::MakeUndefined(object.is_none()
                                  ? fmt::format("'None' has no attribute '{}'", name)
                                  : fmt::format("'{} object' has no attribute '{}'", type, name));
}

Value UnsafeAttribute(const Value& object, std::string_view name) {
  return Value::MakeUndefined(
      fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, object.TypeName()));
}

// Methods that would change the value: the sandbox hides them.
bool IsMutator(const Value& object, std::string_view name) {
  static constexpr std::array<std::string_view, 8> kList = {"append", "clear", "pop",    "reverse",
                                                            "insert", "sort",  "extend", "remove"};
  static constexpr std::array<std::string_view, 5> kDict = {"clear", "pop", "popitem", "setdefault",
                                                            "update"};
  if (object.is_list()) return std::find(kList.begin(), kList.end(), name) != kList.end();
  if (object.is_dict()) return std::find(kDict.begin(), kDict.end(), name) != kDict.end();
  return false;
}

// What Python's getattr finds; nothing where it raises AttributeError.
std::optional<Value> FindAttribute(Context& context, const Value& object, std::string_view name) {
  if (name.size() > 4 && name.starts_with("__") && name.ends_with("__")) return UnsafeAttribute(object, name);
  if (IsMutator(object, name)) return UnsafeAttribute(object, name);
  if (object.is_tuple() && object.list()->group && (name == "grouper" || name == "list")) {
    return object.list()->items[name == "list" ? 1 : 0];
  }
  MethodFn method = nullptr;
  if (object.is_text()) {
    method = FindTextMethod(name);
  } else if (object.is_sequence()) {
    method = FindListMethod(name);
  } else if (object.is_dict()) {
    method = FindDictMethod(name);
  } else if (const auto* cycler = object.As<Cycler>(); cycler != nullptr) {
    if (name == "current") return cycler->Current();
    method = FindCyclerMethod(name);
  } else if (object.is_object()) {
    std::optional<Value> value = object.object()->Attribute(context, name);
    if (value.has_value() && name.starts_with("_")) return UnsafeAttribute(object, name);
    return value;
  }
  if (method == nullptr) return std::nullopt;
  return context.NewObject<BoundMethod>(object, method);
}

// What object[key] finds; nothing where Python raises TypeError or LookupError.
std::optional<Value> FindItem(Context& context, const Value& object, const Value& key) {
  if (object.is_dict()) {
    if (key.is_list() || key.is_dict()) return std::nullopt;
    const Value* value = object.dict()->Find(key);
    return value == nullptr ? std::nullopt : std::optional<Value>(*value);
  }
  const auto* range = object.As<Range>();
  if (!key.is_integral() || !(object.is_text() || object.is_sequence() || range != nullptr))
    return std::nullopt;
  const auto length = static_cast<Int>(RequireLength(context, object));
  const Int index = key.integer() < 0 ? key.integer() + length : key.integer();
  if (index < 0 || index >= length) return std::nullopt;
  const auto at = static_cast<size_t>(index);
  if (object.is_text()) return Value::Of(TakeChars(context, object.text(), index, 1, 1));
  if (range != nullptr) return range->At(at);
  return object.list()->items[at];
}

struct SliceBounds {
  Int first = 0, step = 1;
  size_t count = 0;
};

// The rules of Python's slice.indices.
SliceBounds ClipSlice(Int length, const Value& start, const Value& stop, const Value& step_value) {
  const auto read = [](const Value& value, Int otherwise) {
    RequireDefined(value);
    if (value.is_none()) return otherwise;
    if (!value.is_integral()) Fail("slice indices must be integers or None");
    return value.integer();
  };
  SliceBounds bounds;
  bounds.step = read(step_value, 1);
  if (bounds.step == 0) Fail("slice step cannot be zero");
  const bool back = bounds.step < 0;
  const Int low = back ? -1 : 0;
  const Int high = back ? length - 1 : length;
  const auto clip = [&](const Value& value, Int otherwise) {
    Int at = read(value, otherwise);
    if (!value.is_none() && at < 0) at += length;
    return std::clamp(at, low, high);
  };
  bounds.first = clip(start, back ? high : low);
  const Int last = clip(stop, back ? low : high);
  const Int span = back ? bounds.first - last : last - bounds.first;
  const Int stride = back ? -bounds.step : bounds.step;
  if (span > 0) bounds.count = static_cast<size_t>((span + stride - 1) / stride);
  return bounds;
}

}  // namespace

Value GetAttribute(Context& context, const Value& object, std::string_view name) {
  context.budget().Step();
  RequireDefined(object);
  if (std::optional<Value> value = FindAttribute(context, object, name)) return *std::move(value);
  if (object.is_dict()) {
    if (const Value* value = object.dict()->Find(name)) return *value;
  }
  return MissingAttribute(object, name);
}

Value GetItem(Context& context, const Value& object, const Value& key) {
  context.budget().Step();
  RequireDefined(object);
  if (std::optional<Value> value = FindItem(context, object, key)) return *std::move(value);
  if (key.is_text()) {
    const std::string_view name = key.text()->bytes();
    if (std::optional<Value> value = FindAttribute(context, object, name)) return *std::move(value);
    return MissingAttribute(object, name);
  }
  return Value::MakeUndefined(fmt::format("'{} object' has no such element", object.TypeName()));
}

Value GetSlice(Context& context, const Value& object, const Value& start, const Value& stop,
               const Value& step) {
  context.budget().Step();
  RequireDefined(object);
  const bool is_range = object.As<Range>() != nullptr;
  if (!object.is_text() && !object.is_sequence() && !is_range) {
    Fail("'{}' object cannot be sliced", object.TypeName());
  }
  const auto length = static_cast<Int>(RequireLength(context, object));
  const SliceBounds bounds = ClipSlice(length, start, stop, step);
  if (object.is_text()) {
    return Value::Of(TakeChars(context, object.text(), bounds.first, bounds.step, bounds.count));
  }
  const ListPtr source = is_range ? Items(context, object) : object.list();
  std::vector<Value> items;
  items.reserve(bounds.count);
  for (size_t i = 0; i < bounds.count; ++i) {
    items.push_back(source->items[static_cast<size_t>(bounds.first + bounds.step * static_cast<Int>(i))]);
  }
  return Value::Of(std::make_shared<const List>(std::move(items), object.is_tuple(), &context.budget()));
}

}  // namespace firebrick::jinja
