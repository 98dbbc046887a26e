// Filters that choose, order or map items, by themselves or by an attribute.
#include <algorithm>
#include <unordered_set>

#include "text/jinja/builtins.h"
#include "text/jinja/filter_lists.h"
#include "text/jinja/objects.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"
#include "text/jinja/selection.h"

namespace firebrick::jinja {

AttributePath::AttributePath(const Value& attribute) {
  if (attribute.is_none()) return;
  if (!attribute.is_text()) {
    parts_.push_back(attribute);
    return;
  }
  const std::string_view text = attribute.text()->bytes();
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('.', begin), text.size());
    const std::string_view part = text.substr(begin, end - begin);
    const bool is_index = !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
    parts_.push_back(is_index ? Value::Of(ParseInt(part, 10).value_or(0))
                              : Value::Of(Text::Make(std::string(part), false, nullptr)));
    begin = end + 1;
  }
}

Value AttributePath::Read(Context& context, const Value& item, const Value* otherwise) const {
  Value value = item;
  for (const Value& part : parts_) {
    value = GetItem(context, value, part);
    if (value.is_undefined() && otherwise != nullptr && !otherwise->is_none()) value = *otherwise;
  }
  return value;
}

namespace {

Value IgnoreCase(Context& context, Value value) {
  return value.is_text() ? Value::Of(ChangeCase(context, value.text(), CaseMap::kLower)) : value;
}

// The keys by which items are ordered: paths, separated by commas.
class SortKey {
 public:
  SortKey(const Value* attribute, bool ignore_case, bool many) : ignore_case_(ignore_case) {
    const Value none = Value::MakeNone();
    const Value& path = attribute == nullptr ? none : *attribute;
    if (!many || !path.is_text()) {
      paths_.emplace_back(path);
      return;
    }
    const std::string_view text = path.text()->bytes();
    for (size_t begin = 0; begin <= text.size();) {
      const size_t end = std::min(text.find(',', begin), text.size());
      paths_.emplace_back(
          Value::Of(Text::Make(std::string(text.substr(begin, end - begin)), false, nullptr)));
      begin = end + 1;
    }
  }
  Value Read(Context& context, const Value& item) const {
    std::vector<Value> keys;
    for (const AttributePath& path : paths_) {
      Value key = path.Read(context, item);
      keys.push_back(ignore_case_ ? IgnoreCase(context, std::move(key)) : std::move(key));
    }
    return keys.size() == 1 ? keys.front() : context.NewList(std::move(keys));
  }

 private:
  bool ignore_case_;
  std::vector<AttributePath> paths_;
};

struct KeyedItem {
  Value key;
  Value item;
};

std::vector<KeyedItem> ReadKeys(Context& context, const ListPtr& items, const SortKey& sort_key) {
  std::vector<KeyedItem> keyed;
  keyed.reserve(items->items.size());
  for (const Value& item : items->items) keyed.push_back({sort_key.Read(context, item), item});
  return keyed;
}

// Stable, also in reverse, as Python's sorted.
void SortKeyed(Context& context, std::vector<KeyedItem>* keyed, bool reverse) {
  std::stable_sort(keyed->begin(), keyed->end(), [&](const KeyedItem& a, const KeyedItem& b) {
    return reverse ? Less(context, b.key, a.key) : Less(context, a.key, b.key);
  });
}

std::vector<Value> TakeItems(std::vector<KeyedItem> keyed) {
  std::vector<Value> items;
  items.reserve(keyed.size());
  for (KeyedItem& entry : keyed) items.push_back(std::move(entry.item));
  return items;
}

Value Sort(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("sort", args, {"reverse", "case_sensitive", "attribute"});
  const SortKey key(bound[2], !bound.Flag(context, 1, false), true);
  std::vector<KeyedItem> keyed = ReadKeys(context, Items(context, input), key);
  SortKeyed(context, &keyed, bound.Flag(context, 0, false));
  return context.NewList(TakeItems(std::move(keyed)));
}

Value DictSort(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("dictsort", args, {"case_sensitive", "by", "reverse"});
  const std::string_view by = bound[1] != nullptr && bound[1]->is_text() ? bound[1]->text()->bytes() : "key";
  if (by != "key" && by != "value") Fail("You can only sort by either \"key\" or \"value\"");
  RequireDefined(input);
  if (!input.is_dict()) Fail("'{}' object has no attribute 'items'", input.TypeName());
  const bool ignore_case = !bound.Flag(context, 0, false);
  std::vector<KeyedItem> keyed;
  for (const auto& [key, value] : input.dict()->items) {
    const Value& chosen = by == "key" ? key : value;
    keyed.push_back({ignore_case ? IgnoreCase(context, chosen) : chosen, context.NewTuple({key, value})});
  }
  SortKeyed(context, &keyed, bound.Flag(context, 2, false));
  return context.NewList(TakeItems(std::move(keyed)));
}

Value Unique(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("unique", args, {"case_sensitive", "attribute"});
  const SortKey key(bound[1], !bound.Flag(context, 0, false), false);
  const auto make = [input, key](Context& in) {
    std::vector<Value> items;
    std::unordered_set<std::string> seen;
    for (const ListPtr list = Items(in, input); const Value& item : list->items) {
      in.budget().Step();
      if (seen.insert(HashKey(key.Read(in, item))).second) items.push_back(item);
    }
    return MakeList(std::move(items), &in.budget());
  };
  return context.NewObject<Generator>(make, input, args);
}

template <bool largest>
Value Extreme(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("min", args, {"case_sensitive", "attribute"});
  const SortKey key(bound[1], !bound.Flag(context, 0, false), false);
  const std::vector<KeyedItem> keyed = ReadKeys(context, Items(context, input), key);
  if (keyed.empty()) return Value::MakeUndefined("No aggregated item, sequence was empty.");
  const KeyedItem* best = &keyed.front();
  for (const KeyedItem& entry : keyed) {
    if (&entry == &keyed.front()) continue;
    if (largest ? Less(context, best->key, entry.key) : Less(context, entry.key, best->key)) best = &entry;
  }
  return best->item;
}

Value Sum(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("sum", args, {"attribute", "start"});
  const AttributePath path(bound[0] == nullptr ? Value::MakeNone() : *bound[0]);
  Value sum = bound[1] == nullptr ? Value::Of(Int{0}) : *bound[1];
  if (sum.is_text()) Fail("sum() can't sum strings [use ''.join(seq) instead]");
  for (const ListPtr list = Items(context, input); const Value& item : list->items) {
    sum = Arithmetic(context, Op::kAdd, sum, path.Read(context, item));
  }
  return sum;
}

Value GroupBy(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("groupby", args, {"attribute", "default", "case_sensitive"}, 1);
  const AttributePath path(*bound[0]);
  const bool ignore_case = !bound.Flag(context, 2, false);
  std::vector<KeyedItem> keyed;
  for (const ListPtr list = Items(context, input); const Value& item : list->items) {
    const Value key = path.Read(context, item, bound[1]);
    keyed.push_back({ignore_case ? IgnoreCase(context, key) : key, item});
  }
  SortKeyed(context, &keyed, false);
  std::vector<Value> groups;
  for (auto begin = keyed.begin(); begin != keyed.end();) {
    auto end = begin;
    std::vector<Value> members;
    for (; end != keyed.end() && Equal(context, end->key, begin->key); ++end) members.push_back(end->item);
    if (members.empty()) members.push_back((end++)->item);  // a key that is not equal to itself
    std::vector<Value> pair = {path.Read(context, members.front(), bound[1]), context.NewList(members)};
    auto group = std::make_shared<List>(std::move(pair), true, &context.budget());
    group->group = true;
    groups.push_back(Value::Of(ListPtr(std::move(group))));
    begin = end;
  }
  return context.NewList(std::move(groups));
}

ListPtr MapAttribute(Context& context, const Value& input, const Args& args) {
  const Args named{{}, args.keywords};
  const BoundArgs bound("map", named, {"attribute", "default"}, 1);
  const AttributePath path(*bound[0]);
  std::vector<Value> out;
  for (const ListPtr list = Items(context, input); const Value& item : list->items) {
    out.push_back(path.Read(context, item, bound[1]));
  }
  return MakeList(std::move(out), &context.budget());
}

ListPtr MapFilter(Context& context, const Value& input, const Args& args) {
  if (args.positional.empty()) Fail("map requires a filter argument");
  if (!args.positional[0].is_text()) Fail("map requires the name of a filter");
  const std::string name(args.positional[0].text()->bytes());
  const FilterFn filter = FindFilter(name);
  if (filter == nullptr) Fail("No filter named '{}'.", name);
  const Args rest{{args.positional.begin() + 1, args.positional.end()}, args.keywords};
  std::vector<Value> out;
  for (const ListPtr list = Items(context, input); const Value& item : list->items) {
    const Budget::Level level(context.budget());
    context.budget().Step();
    out.push_back(filter(context, item, rest).WithUser(item.FromUser()));
  }
  return MakeList(std::move(out), &context.budget());
}

Value Map(Context& context, const Value& input, const Args& args) {
  const auto make = [input, args](Context& in) {
    if (!Truthy(in, input)) return MakeList({}, &in.budget());
    const bool by_attribute = args.positional.empty() &&
                              std::any_of(args.keywords.begin(), args.keywords.end(),
                                          [](const auto& keyword) { return keyword.first == "attribute"; });
    return by_attribute ? MapAttribute(in, input, args) : MapFilter(in, input, args);
  };
  return context.NewObject<Generator>(make, input, args);
}

// select, reject, and the two that test an attribute.
template <bool wanted, bool by_attribute>
Value Select(Context& context, const Value& input, const Args& args) {
  const auto make = [input, args](Context& in) {
    std::vector<Value> out;
    if (!Truthy(in, input)) return MakeList({}, &in.budget());
    constexpr size_t kOffset = by_attribute ? 1 : 0;
    if (args.positional.size() < kOffset) Fail("Missing parameter for attribute name");
    const AttributePath path(by_attribute ? args.positional[0] : Value::MakeNone());
    TestFn test = nullptr;
    Args rest;
    if (args.positional.size() > kOffset) {
      const Value& name = args.positional[kOffset];
      if (name.is_text()) test = FindTest(name.text()->bytes());
      if (test == nullptr)
        Fail("No test named '{}'.", name.is_text() ? name.text()->bytes() : name.TypeName());
      rest = {{args.positional.begin() + kOffset + 1, args.positional.end()}, args.keywords};
    }
    for (const ListPtr list = Items(in, input); const Value& item : list->items) {
      const Budget::Level level(in.budget());
      in.budget().Step();
      const Value value = path.Read(in, item);
      if ((test != nullptr ? test(in, value, rest) : Truthy(in, value)) == wanted) out.push_back(item);
    }
    return MakeList(std::move(out), &in.budget());
  };
  return context.NewObject<Generator>(make, input, args);
}

constexpr NamedFilter kFilters[] = {
    {"sort", Sort},
    {"dictsort", DictSort},
    {"unique", Unique},
    {"min", Extreme<false>},
    {"max", Extreme<true>},
    {"sum", Sum},
    {"groupby", GroupBy},
    {"map", Map},
    {"select", Select<true, false>},
    {"reject", Select<false, false>},
    {"selectattr", Select<true, true>},
    {"rejectattr", Select<false, true>},
};

}  // namespace

std::span<const NamedFilter> SelectionFilters() { return kFilters; }

}  // namespace firebrick::jinja
