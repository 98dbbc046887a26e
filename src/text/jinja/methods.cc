#include "text/jinja/methods.h"

#include <algorithm>

#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace firebrick::jinja {
namespace {

struct Method {
  std::string_view name;
  MethodFn function;
};

template <size_t N>
MethodFn Find(const Method (&table)[N], std::string_view name) {
  const auto* found =
      std::find_if(std::begin(table), std::end(table), [&](const Method& m) { return m.name == name; });
  return found == std::end(table) ? nullptr : found->function;
}

// An argument that must be text; nothing where it was left out or is None.
std::optional<std::string_view> TextArg(std::string_view method, const Value* value) {
  if (value == nullptr || value->is_none()) return std::nullopt;
  RequireDefined(*value);
  if (!value->is_text()) Fail("{}() needs a string, not '{}'", method, value->TypeName());
  return value->text()->bytes();
}

std::string_view RequiredText(std::string_view method, const Value* value) {
  const auto text = TextArg(method, value);
  if (!text.has_value()) Fail("{}() needs a string, not None", method);
  return *text;
}

TextPtr TextOr(Context& context, std::string_view method, const Value* value, std::string_view otherwise) {
  if (value == nullptr) return Text::Make(std::string(otherwise), false, &context.budget());
  RequiredText(method, value);
  return value->text();
}

template <Side side>
Value StripMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("strip", args, {""});
  return Value::Of(Strip(context, self.text(), side, TextArg("strip", bound[0])));
}

template <bool right>
Value SplitMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("split", args, {"sep", "maxsplit"});
  const auto separator = TextArg("split", bound[0]);
  const Int max_splits = bound.Integer(1, -1);
  return context.NewList(right ? SplitRight(context, self.text(), separator, max_splits)
                               : Split(context, self.text(), separator, max_splits));
}

Value SplitLinesMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("splitlines", args, {"keepends"});
  return context.NewList(SplitLines(context, self.text(), bound.Flag(context, 0, false)));
}

template <CaseMap map>
Value CaseMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("upper", args, {});
  return Value::Of(ChangeCase(context, self.text(), map));
}

template <TextPtr (*function)(Context&, const TextPtr&)>
Value PlainMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("str method", args, {});
  return Value::Of(function(context, self.text()));
}

template <bool (*predicate)(uint32_t)>
Value AllMethod(Context&, const Value& self, const Args& args) {
  const BoundArgs bound("str method", args, {});
  return Value::Of(AllChars(self.text()->bytes(), predicate));
}

template <bool (*predicate)(std::string_view)>
Value TextPredicate(Context&, const Value& self, const Args& args) {
  const BoundArgs bound("str method", args, {});
  return Value::Of(predicate(self.text()->bytes()));
}

bool IsAlnum(uint32_t c) { return IsAlpha(c) || IsNumeric(c); }
bool IsAscii(std::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

Value ReplaceMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("replace", args, {"", "", ""}, 2);
  const std::string_view old = RequiredText("replace", bound[0]);
  RequiredText("replace", bound[1]);
  TextPtr replacement = bound[1]->text();
  if (self.text()->markup()) replacement = EscapeHtml(context, replacement);
  return Value::Of(Replace(context, self.text(), old, replacement, bound.Integer(2, -1)));
}

// The part of the text that start and stop, which count characters, cut out: byte offsets.
std::pair<size_t, size_t> Window(const Text& text, const BoundArgs& bound, size_t first_arg) {
  const auto length = static_cast<Int>(text.num_chars());
  const auto read = [&](size_t index, Int otherwise) {
    if (bound[index] == nullptr || bound[index]->is_none()) return otherwise;
    const Int at = bound.Integer(index, otherwise);
    return at < 0 ? std::max<Int>(at + length, 0) : at;
  };
  const Int start = read(first_arg, 0);
  const Int stop = std::min(read(first_arg + 1, length), length);
  if (start > stop) return {1, 0};
  return {text.OffsetOfChar(static_cast<size_t>(start)), text.OffsetOfChar(static_cast<size_t>(stop))};
}

template <bool at_end>
Value AffixMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("startswith", args, {"", "", ""}, 1);
  const auto [begin, end] = Window(*self.text(), bound, 1);
  if (begin > end) return Value::Of(false);
  const std::string_view text = self.text()->bytes().substr(begin, end - begin);
  const auto matches = [&](const Value& affix) {
    const std::string_view bytes = RequiredText("startswith", &affix);
    return at_end ? text.ends_with(bytes) : text.starts_with(bytes);
  };
  context.budget().Step();
  if (!bound[0]->is_tuple()) return Value::Of(matches(*bound[0]));
  const auto& affixes = bound[0]->list()->items;
  return Value::Of(std::any_of(affixes.begin(), affixes.end(), matches));
}

template <bool from_right, bool must_find>
Value FindMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("find", args, {"", "", ""}, 1);
  const std::string_view needle = RequiredText("find", bound[0]);
  const auto [begin, end] = Window(*self.text(), bound, 1);
  context.budget().Touch(self.text()->size());
  size_t found = std::string_view::npos;
  if (begin <= end) {
    const std::string_view window = self.text()->bytes().substr(begin, end - begin);
    found = from_right ? window.rfind(needle) : window.find(needle);
  }
  if (found == std::string_view::npos) {
    if (must_find) Fail("substring not found");
    return Value::Of(Int{-1});
  }
  return Value::Of(static_cast<Int>(self.text()->CharOfOffset(begin + found)), self.FromUser());
}

Value CountMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("count", args, {"", "", ""}, 1);
  const std::string_view needle = RequiredText("count", bound[0]);
  const auto [begin, end] = Window(*self.text(), bound, 1);
  context.budget().Touch(self.text()->size());
  if (begin > end) return Value::Of(Int{0});
  const std::string_view window = self.text()->bytes().substr(begin, end - begin);
  Int count = 0;
  if (needle.empty()) {
    count = static_cast<Int>(self.text()->CharOfOffset(end) - self.text()->CharOfOffset(begin)) + 1;
  } else {
    for (size_t at = window.find(needle); at != std::string_view::npos;
         at = window.find(needle, at + needle.size())) {
      ++count;
    }
  }
  return Value::Of(count, self.FromUser());
}

Value JoinMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("join", args, {""}, 1);
  const ListPtr items = Items(context, *bound[0]);
  if (!self.text()->markup()) return Value::Of(Join(context, self.text(), items->items));
  std::vector<Value> escaped;
  for (const Value& item : items->items)
    escaped.push_back(Value::Of(EscapeHtml(context, SoftStr(context, item))));
  return Value::Of(Join(context, self.text(), escaped));
}

template <Side side>
Value PadMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("center", args, {"", ""}, 1);
  return Value::Of(
      Pad(context, self.text(), bound.Integer(0, 0), TextOr(context, "center", bound[1], " "), side));
}

Value ZfillMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("zfill", args, {""}, 1);
  const TextPtr& text = self.text();
  const TextPtr zero = Text::Make("0", false, &context.budget());
  const bool sign = !text->empty() && (text->bytes()[0] == '+' || text->bytes()[0] == '-');
  if (!sign) return Value::Of(Pad(context, text, bound.Integer(0, 0), zero, Side::kRight));
  TextBuilder out(&context.budget());
  out.Append(*text, 0, 1);
  const TextPtr rest = SubText(text, 1, text->size(), &context.budget());
  out.Append(*Pad(context, rest, bound.Integer(0, 0) - 1, zero, Side::kRight));
  return Value::Of(out.Build(text->markup()));
}

template <bool from_right>
Value PartitionMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("partition", args, {""}, 1);
  const std::string_view separator = RequiredText("partition", bound[0]);
  if (separator.empty()) Fail("empty separator");
  const TextPtr& text = self.text();
  const size_t at = from_right ? text->bytes().rfind(separator) : text->bytes().find(separator);
  const auto piece = [&](size_t begin, size_t end) {
    return Value::Of(SubText(text, begin, end, &context.budget()));
  };
  if (at == std::string_view::npos) {
    const Value empty = context.Str("");
    return context.NewTuple(from_right ? std::vector<Value>{empty, empty, self}
                                       : std::vector<Value>{self, empty, empty});
  }
  const size_t end = at + separator.size();
  return context.NewTuple({piece(0, at), piece(at, end), piece(end, text->size())});
}

template <bool at_end>
Value RemoveAffixMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("removeprefix", args, {""}, 1);
  const std::string_view affix = RequiredText("removeprefix", bound[0]);
  const std::string_view text = self.text()->bytes();
  if (!(at_end ? text.ends_with(affix) : text.starts_with(affix))) return self;
  const size_t begin = at_end ? 0 : affix.size();
  return Value::Of(SubText(self.text(), begin, begin + text.size() - affix.size(), &context.budget()));
}

Value FormatMethod(Context& context, const Value& self, const Args& args) {
  return Value::Of(FormatBraces(context, self.text(), args));
}

Value FormatMapMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("format_map", args, {""}, 1);
  if (!bound[0]->is_dict()) Fail("format_map() needs a dict");
  Args named;
  for (const auto& [key, value] : bound[0]->dict()->items) {
    if (key.is_text()) named.keywords.emplace_back(key.text()->bytes(), value);
  }
  return Value::Of(FormatBraces(context, self.text(), named));
}

constexpr Method kTextMethods[] = {
    {"capitalize", PlainMethod<Capitalize>},
    {"center", PadMethod<Side::kBoth>},
    {"count", CountMethod},
    {"endswith", AffixMethod<true>},
    {"find", FindMethod<false, false>},
    {"format", FormatMethod},
    {"format_map", FormatMapMethod},
    {"index", FindMethod<false, true>},
    {"isalnum", AllMethod<IsAlnum>},
    {"isalpha", AllMethod<IsAlpha>},
    {"isascii", TextPredicate<IsAscii>},
    {"isdecimal", AllMethod<IsDecimal>},
    {"isdigit", AllMethod<IsDigit>},
    {"islower", TextPredicate<IsLowerText>},
    {"isnumeric", AllMethod<IsNumeric>},
    {"isspace", AllMethod<IsSpace>},
    {"istitle", TextPredicate<IsTitleText>},
    {"isupper", TextPredicate<IsUpperText>},
    {"join", JoinMethod},
    {"ljust", PadMethod<Side::kLeft>},
    {"lower", CaseMethod<CaseMap::kLower>},
    {"lstrip", StripMethod<Side::kLeft>},
    {"partition", PartitionMethod<false>},
    {"removeprefix", RemoveAffixMethod<false>},
    {"removesuffix", RemoveAffixMethod<true>},
    {"replace", ReplaceMethod},
    {"rfind", FindMethod<true, false>},
    {"rindex", FindMethod<true, true>},
    {"rjust", PadMethod<Side::kRight>},
    {"rpartition", PartitionMethod<true>},
    {"rsplit", SplitMethod<true>},
    {"rstrip", StripMethod<Side::kRight>},
    {"split", SplitMethod<false>},
    {"splitlines", SplitLinesMethod},
    {"startswith", AffixMethod<false>},
    {"strip", StripMethod<Side::kBoth>},
    {"swapcase", PlainMethod<SwapCase>},
    {"title", PlainMethod<TitleCase>},
    {"upper", CaseMethod<CaseMap::kUpper>},
    {"zfill", ZfillMethod},
};

Value ListIndex(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("index", args, {""}, 1);
  const auto& items = self.list()->items;
  const auto found = std::find_if(items.begin(), items.end(),
                                  [&](const Value& item) { return Equal(context, item, *bound[0]); });
  if (found == items.end()) Fail("a value is not in the list");
  return Value::Of(static_cast<Int>(found - items.begin()));
}

Value ListCount(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("count", args, {""}, 1);
  const auto& items = self.list()->items;
  return Value::Of(static_cast<Int>(std::count_if(
      items.begin(), items.end(), [&](const Value& item) { return Equal(context, item, *bound[0]); })));
}

Value Copy(Context&, const Value& self, const Args& args) {
  const BoundArgs bound("copy", args, {});
  return self;  // nothing can change it
}

constexpr Method kListMethods[] = {{"index", ListIndex}, {"count", ListCount}, {"copy", Copy}};

Value DictGet(Context&, const Value& self, const Args& args) {
  const BoundArgs bound("get", args, {"", ""}, 1);
  if (const Value* value = self.dict()->Find(*bound[0])) return *value;
  return bound[1] == nullptr ? Value::MakeNone() : *bound[1];
}

template <DictView::Kind kind>
Value DictViewMethod(Context& context, const Value& self, const Args& args) {
  const BoundArgs bound("items", args, {});
  return context.NewObject<DictView>(self, kind);
}

constexpr Method kDictMethods[] = {
    {"get", DictGet},
    {"items", DictViewMethod<DictView::Kind::kItems>},
    {"keys", DictViewMethod<DictView::Kind::kKeys>},
    {"values", DictViewMethod<DictView::Kind::kValues>},
    {"copy", Copy},
};

constexpr Method kCyclerMethods[] = {
    {"next",
     [](Context&, const Value& self, const Args& args) {
       const BoundArgs bound("next", args, {});
       return self.As<Cycler>()->Next();
     }},
    {"reset",
     [](Context&, const Value& self, const Args& args) {
       const BoundArgs bound("reset", args, {});
       self.As<Cycler>()->Reset();
       return Value::MakeNone();
     }},
};

}  // namespace

MethodFn FindTextMethod(std::string_view name) { return Find(kTextMethods, name); }
MethodFn FindListMethod(std::string_view name) { return Find(kListMethods, name); }
MethodFn FindDictMethod(std::string_view name) { return Find(kDictMethods, name); }
MethodFn FindCyclerMethod(std::string_view name) { return Find(kCyclerMethods, name); }

}  // namespace firebrick::jinja
