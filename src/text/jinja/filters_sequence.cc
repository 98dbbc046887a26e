// Filters over lists and dicts that look at no attributes.
#include <algorithm>

#include "text/jinja/filter_lists.h"
#include "text/jinja/objects.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"
#include "text/jinja/selection.h"

namespace firebrick::jinja {
namespace {

Value Length(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("length", args, {});
  return Value::Of(static_cast<Int>(RequireLength(context, input)), input.FromUser());
}

Value Default(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("default", args, {"default_value", "boolean"});
  const bool replace = input.is_undefined() || (bound.Flag(context, 1, false) && !Truthy(context, input));
  if (!replace) return input;
  return bound[0] == nullptr ? context.Str("") : *bound[0];
}

Value First(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("first", args, {});
  if (auto* generator = input.As<Generator>(); generator != nullptr) {
    if (std::optional<Value> value = generator->Next(context)) return *std::move(value);
  } else if (input.is_text() && !input.text()->empty()) {
    return Value::Of(TakeChars(context, input.text(), 0, 1, 1));
  } else {
    const ListPtr items = Items(context, input);
    if (!items->items.empty()) return items->items.front();
  }
  return Value::MakeUndefined("No first item, sequence was empty.");
}

bool IsReversible(const Value& value) { return IsIterable(value) && value.As<Generator>() == nullptr; }

Value Last(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("last", args, {});
  if (!IsReversible(input)) Fail("'{}' object is not reversible", input.TypeName());
  const ListPtr items = Items(context, input);
  return items->items.empty() ? Value::MakeUndefined("No last item, sequence was empty.")
                              : items->items.back();
}

Value ListFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("list", args, {});
  return Value::Of(Items(context, input));
}

Value Reverse(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("reverse", args, {});
  if (input.is_text()) {
    const Value none = Value::MakeNone();
    return GetSlice(context, input, none, none, Value::Of(Int{-1}));
  }
  const auto reversed = [input](Context& in) {
    const ListPtr items = Items(in, input);
    return MakeList({items->items.rbegin(), items->items.rend()}, &in.budget());
  };
  if (!IsReversible(input)) return Value::Of(reversed(context));
  return context.NewObject<Generator>(reversed, input, args);
}

Value JoinFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("join", args, {"d", "attribute"});
  const TextPtr separator =
      bound[0] == nullptr ? Text::Make("", false, &context.budget()) : Str(context, *bound[0]);
  const bool by_attribute = bound[1] != nullptr && !bound[1]->is_none();
  TextBuilder out(&context.budget());
  bool first = true;
  for (const ListPtr list = Items(context, input); const Value& item : list->items) {
    if (!first) out.Append(*separator);
    first = false;
    AppendStr(context, by_attribute ? AttributePath(*bound[1]).Read(context, item) : item, &out);
  }
  return Value::Of(out.Build());
}

Value ItemsFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("items", args, {});
  const auto make = [input](Context& in) {
    if (input.is_undefined()) return MakeList({}, &in.budget());
    if (!input.is_dict()) Fail("Can only get item pairs from a mapping.");
    std::vector<Value> items;
    for (const auto& [key, value] : input.dict()->items) items.push_back(in.NewTuple({key, value}));
    return MakeList(std::move(items), &in.budget());
  };
  return context.NewObject<Generator>(make, input, args);
}

Value Batch(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("batch", args, {"linecount", "fill_with"}, 1);
  const Int size = bound.Integer(0, 1);
  const Value fill = bound[1] == nullptr ? Value::MakeNone() : *bound[1];
  const auto make = [input, size, fill](Context& in) {
    std::vector<Value> batches;
    std::vector<Value> batch;
    for (const ListPtr list = Items(in, input); const Value& item : list->items) {
      if (static_cast<Int>(batch.size()) == size) batches.push_back(in.NewList(std::exchange(batch, {})));
      batch.push_back(item);
    }
    if (!batch.empty()) {
      const Int missing = fill.is_none() ? 0 : size - static_cast<Int>(batch.size());
      if (missing > 0) {
        const Int most = static_cast<Int>(in.budget().limits().max_memory_bytes / sizeof(Value));
        in.budget().Expect(sizeof(Value) * static_cast<size_t>(std::min(missing, most + 1)));
        batch.insert(batch.end(), static_cast<size_t>(missing), fill);
      }
      batches.push_back(in.NewList(std::move(batch)));
    }
    return MakeList(std::move(batches), &in.budget());
  };
  return context.NewObject<Generator>(make, input, args);
}

Value SliceFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("slice", args, {"slices", "fill_with"}, 1);
  const Int slices = bound.Integer(0, 1);
  const Value fill = bound[1] == nullptr ? Value::MakeNone() : *bound[1];
  const auto make = [input, slices, fill](Context& in) {
    const ListPtr source = Items(in, input);
    if (slices == 0) Fail("integer division or modulo by zero");
    const auto length = static_cast<Int>(source->items.size());
    const Int per_slice = slices < 0 ? 0 : length / slices;
    const Int with_extra = slices < 0 ? 0 : length % slices;
    std::vector<Value> out;
    auto at = source->items.begin();
    for (Int i = 0; i < slices; ++i) {
      const auto end = at + static_cast<std::ptrdiff_t>(per_slice + (i < with_extra ? 1 : 0));
      std::vector<Value> part(at, end);
      at = end;
      if (!fill.is_none() && i >= with_extra) part.push_back(fill);
      out.push_back(in.NewList(std::move(part)));
    }
    return MakeList(std::move(out), &in.budget());
  };
  return context.NewObject<Generator>(make, input, args);
}

Value Attr(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("attr", args, {"name"}, 1);
  if (!bound[0]->is_text()) Fail("attr() needs a string, not '{}'", bound[0]->TypeName());
  const std::string_view name = bound[0]->text()->bytes();
  if (input.is_dict()) {  // methods only, never the keys
    return GetAttribute(context, context.NewDict({}), name).is_undefined()
               ? Value()
               : GetAttribute(context, input, name);
  }
  return GetAttribute(context, input, name);
}

constexpr NamedFilter kFilters[] = {
    {"length", Length},   {"count", Length},      {"default", Default}, {"d", Default},
    {"first", First},     {"last", Last},         {"list", ListFilter}, {"reverse", Reverse},
    {"join", JoinFilter}, {"items", ItemsFilter}, {"batch", Batch},     {"slice", SliceFilter},
    {"attr", Attr},
};

}  // namespace

std::span<const NamedFilter> SequenceFilters() { return kFilters; }

}  // namespace firebrick::jinja
