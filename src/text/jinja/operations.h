// What Python does with values: truth, length, iteration, comparison, arithmetic, access, text.
// Every function fails (throws Failure) where Python raises.
#pragma once

#include <optional>
#include <string_view>

#include "text/jinja/ast.h"
#include "text/jinja/context.h"

namespace firebrick::jinja {

// Fails with the reason where `value` is undefined.
void RequireDefined(const Value& value);
bool Truthy(Context& context, const Value& value);
std::optional<size_t> LengthOf(Context& context, const Value& value);
size_t RequireLength(Context& context, const Value& value);
bool IsIterable(const Value& value);
// list(value)
ListPtr Items(Context& context, const Value& value);

bool Equal(Context& context, const Value& a, const Value& b);
bool Less(Context& context, const Value& a, const Value& b, std::string_view op = "<");
bool Compare(Context& context, Op op, const Value& a, const Value& b);
bool Contains(Context& context, const Value& needle, const Value& haystack);
Value Arithmetic(Context& context, Op op, const Value& a, const Value& b);
Value Negate(const Value& value);

// a.name, a[key], a[start:stop:step] with the rules of the sandbox: undefined where there is none.
Value GetAttribute(Context& context, const Value& object, std::string_view name);
Value GetItem(Context& context, const Value& object, const Value& key);
Value GetSlice(Context& context, const Value& object, const Value& start, const Value& stop,
               const Value& step);
Value CallValue(Context& context, const Value& function, const Args& args);

// str(value), with its marks. AppendStr writes the same.
TextPtr Str(Context& context, const Value& value);
void AppendStr(Context& context, const Value& value, TextBuilder* out);
void AppendRepr(Context& context, const Value& value, TextBuilder* out);
// As soft_str: Markup stays Markup.
TextPtr SoftStr(Context& context, const Value& value);
TextPtr EscapeHtml(Context& context, const TextPtr& text);

struct JsonStyle {
  bool ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // of one level; none: all on one line
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};
// json.dumps. One author for the whole: the user's where any part is.
TextPtr DumpJson(Context& context, const Value& value, const JsonStyle& style);

// Python's repr of a float; int(text, base) and float(text), nothing where Python raises ValueError.
std::string FloatRepr(double number);
std::optional<Int> ParseInt(std::string_view text, int base);
std::optional<double> ParseFloat(std::string_view text);
// int(number): fails for what is not finite or too large.
Int ToInt(double number);

// "%s" % args, and str.format.
TextPtr FormatPercent(Context& context, const TextPtr& format, const Value& args);
TextPtr FormatBraces(Context& context, const TextPtr& format, const Args& args);

}  // namespace firebrick::jinja
