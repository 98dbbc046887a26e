// Filters that make text.
#include <algorithm>

#include "text/jinja/filter_lists.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace firebrick::jinja {
namespace {

Value StringFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("string", args, {});
  return Value::Of(SoftStr(context, input));
}

template <CaseMap map>
Value CaseFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("upper", args, {});
  return Value::Of(ChangeCase(context, SoftStr(context, input), map));
}

template <TextPtr (*function)(Context&, const TextPtr&)>
Value PlainFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("filter", args, {});
  return Value::Of(function(context, SoftStr(context, input)));
}

Value Trim(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("trim", args, {"chars"});
  std::optional<std::string_view> chars;
  if (bound[0] != nullptr && !bound[0]->is_none()) {
    if (!bound[0]->is_text()) Fail("trim() needs a string, not '{}'", bound[0]->TypeName());
    chars = bound[0]->text()->bytes();
  }
  return Value::Of(Strip(context, SoftStr(context, input), Side::kBoth, chars));
}

Value ReplaceFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("replace", args, {"old", "new", "count"}, 2);
  const TextPtr old = Str(context, *bound[0]);
  const Int count = bound[2] == nullptr || bound[2]->is_none() ? Int{-1} : bound.Integer(2, -1);
  return Value::Of(Replace(context, Str(context, input), old->bytes(), Str(context, *bound[1]), count));
}

Value Safe(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("safe", args, {});
  TextBuilder out(&context.budget());
  AppendStr(context, input, &out);
  return Value::Of(out.Build(true));
}

Value Escape(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("escape", args, {});
  return Value::Of(EscapeHtml(context, SoftStr(context, input)));
}

Value ForceEscape(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("forceescape", args, {});
  return Value::Of(EscapeHtml(context, Str(context, input)));
}

Value Center(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("center", args, {"width"});
  const TextPtr fill = Text::Make(" ", false, &context.budget());
  return Value::Of(Pad(context, SoftStr(context, input), bound.Integer(0, 80), fill, Side::kBoth));
}

Value FormatFilter(Context& context, const Value& input, const Args& args) {
  if (!args.positional.empty() && !args.keywords.empty()) {
    Fail("format can't handle positional and keyword arguments at the same time");
  }
  const TextPtr format = SoftStr(context, input);
  if (args.keywords.empty())
    return Value::Of(FormatPercent(context, format, context.NewTuple(args.positional)));
  std::vector<Dict::Item> items;
  for (const auto& [name, value] : args.keywords) items.emplace_back(context.Str(name), value);
  return Value::Of(FormatPercent(context, format, context.NewDict(std::move(items))));
}

Value Indent(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("indent", args, {"width", "first", "blank"});
  RequireDefined(input);
  if (!input.is_text()) Fail("indent needs a string, not '{}'", input.TypeName());
  TextPtr indention;
  if (bound[0] != nullptr && bound[0]->is_text()) {
    indention = bound[0]->text();
  } else {
    const Value space = context.Str(" ");
    indention = Arithmetic(context, Op::kMul, space, Value::Of(bound.Integer(0, 4))).text();
  }
  const bool blank = bound.Flag(context, 2, false);
  TextBuilder with_newline(&context.budget());
  with_newline.Append(*input.text());
  with_newline.Append("\n", false);
  const std::vector<Value> lines = SplitLines(context, with_newline.Build(), false);
  TextBuilder out(&context.budget());
  if (bound.Flag(context, 1, false)) out.Append(*indention);
  for (size_t i = 0; i < lines.size(); ++i) {
    if (i > 0) {
      out.Append("\n", false);
      if (blank || !lines[i].text()->empty()) out.Append(*indention);
    }
    out.Append(*lines[i].text());
  }
  return Value::Of(out.Build(input.text()->markup()));
}

Value TruncateFilter(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("truncate", args, {"length", "killwords", "end", "leeway"});
  const Int length = bound.Integer(0, 255);
  const Value end = bound[2] == nullptr ? context.Str("...") : *bound[2];
  const Int leeway = bound[3] == nullptr || bound[3]->is_none() ? Int{5} : bound.Integer(3, 5);
  RequireDefined(input);
  if (!input.is_text() || !end.is_text()) Fail("truncate needs a string, not '{}'", input.TypeName());
  const auto end_chars = static_cast<Int>(end.text()->num_chars());
  if (length < end_chars || leeway < 0)
    Fail("truncate() got a length below {} or a negative leeway", end_chars);
  const TextPtr& text = input.text();
  if (static_cast<Int>(text->num_chars()) <= length + leeway) return input;
  TextPtr cut =
      SubText(text, 0, text->OffsetOfChar(static_cast<size_t>(length - end_chars)), &context.budget());
  if (!bound.Flag(context, 1, false)) {
    const size_t space = cut->bytes().rfind(' ');
    if (space != std::string_view::npos) cut = SubText(cut, 0, space, &context.budget());
  }
  return Arithmetic(context, Op::kAdd, Value::Of(cut), end);
}

Value WordCount(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("wordcount", args, {});
  const TextPtr text = SoftStr(context, input);
  context.budget().Touch(text->size());
  Int words = 0;
  bool in_word = false;
  for (const ListPtr list = Items(context, Value::Of(text)); const Value& item : list->items) {
    const std::string_view bytes = item.text()->bytes();
    const bool word = bytes == "_" || AllChars(bytes, [](uint32_t c) { return IsAlpha(c) || IsNumeric(c); });
    words += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return Value::Of(words, text->AnyUser());
}

void AppendUrlQuoted(const Text& text, bool for_query, TextBuilder* out) {
  AuthorCursor authors(text);
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text.bytes()[at];
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '_' || c == '.' || c == '-' || c == '~' || (c == '/' && !for_query);
    if (plain) {
      out->Append(text, at, at + 1);
    } else if (c == ' ' && for_query) {
      out->Append("+", authors.UserAt(at));
    } else {
      out->Append(fmt::format("%{:02X}", static_cast<unsigned char>(c)), authors.UserAt(at));
    }
  }
}

Value UrlEncode(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("urlencode", args, {});
  TextBuilder out(&context.budget());
  if (input.is_text() || !IsIterable(input)) {
    AppendUrlQuoted(*Str(context, input), false, &out);
    return Value::Of(out.Build());
  }
  std::vector<Value> pairs;
  if (input.is_dict()) {
    for (const auto& [key, value] : input.dict()->items) pairs.push_back(context.NewTuple({key, value}));
  } else {
    pairs = Items(context, input)->items;
  }
  for (size_t i = 0; i < pairs.size(); ++i) {
    const ListPtr pair = Items(context, pairs[i]);
    if (pair->items.size() != 2) Fail("urlencode needs pairs of a key and a value");
    if (i > 0) out.Append("&", false);
    AppendUrlQuoted(*Str(context, pair->items[0]), true, &out);
    out.Append("=", false);
    AppendUrlQuoted(*Str(context, pair->items[1]), true, &out);
  }
  return Value::Of(out.Build());
}

std::string IndentText(Context& context, const Value& indent) {
  if (indent.is_text()) return std::string(indent.text()->bytes());
  if (!indent.is_integral()) Fail("tojson() needs an integer or a string as indent");
  const Int width = std::clamp<Int>(indent.integer(), 0, 1 << 16);
  context.budget().Expect(static_cast<size_t>(width));
  return std::string(static_cast<size_t>(width), ' ');
}

// As transformers defines it: the text of json.dumps, not escaped for HTML.
Value ToJson(Context& context, const Value& input, const Args& args) {
  const BoundArgs bound("tojson", args, {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ascii = bound.Flag(context, 0, false);
  style.sort_keys = bound.Flag(context, 3, false);
  if (bound[1] != nullptr && !bound[1]->is_none()) {
    style.indent = IndentText(context, *bound[1]);
    style.item_separator.assign(1, ',');
  }
  if (bound[2] != nullptr && !bound[2]->is_none()) {
    const ListPtr pair = Items(context, *bound[2]);
    if (pair->items.size() != 2 || !pair->items[0].is_text() || !pair->items[1].is_text()) {
      Fail("tojson() needs a pair of strings as separators");
    }
    style.item_separator = pair->items[0].text()->bytes();
    style.key_separator = pair->items[1].text()->bytes();
  }
  return Value::Of(DumpJson(context, input, style));
}

constexpr NamedFilter kFilters[] = {
    {"string", StringFilter},
    {"upper", CaseFilter<CaseMap::kUpper>},
    {"lower", CaseFilter<CaseMap::kLower>},
    {"capitalize", PlainFilter<Capitalize>},
    {"title", PlainFilter<TitleWords>},
    {"trim", Trim},
    {"replace", ReplaceFilter},
    {"safe", Safe},
    {"escape", Escape},
    {"e", Escape},
    {"forceescape", ForceEscape},
    {"center", Center},
    {"format", FormatFilter},
    {"indent", Indent},
    {"truncate", TruncateFilter},
    {"wordcount", WordCount},
    {"urlencode", UrlEncode},
    {"tojson", ToJson},
};

}  // namespace

std::span<const NamedFilter> TextFilters() { return kFilters; }

}  // namespace firebrick::jinja
