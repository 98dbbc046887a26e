// Filters that make numbers.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "text/jinja/filter_lists.h"
#include "text/jinja/operations.h"

namespace firebrick::jinja {
namespace {

std::optional<Int> TruncatedFloat(double number) {
  if (!std::isfinite(number)) return std::nullopt;
  return ToInt(number);
}

Value IntFilter(Context&, const Value& input, const Args& args) {
  const BoundArgs bound("int", args, {"default", "base"});
  RequireDefined(input);
  std::optional<Int> result;
  if (input.is_text()) {
    const std::string_view text = input.text()->bytes();
    const Int base = std::clamp<Int>(bound.Integer(1, 10), -1, 100);
    result = ParseInt(text, static_cast<int>(base));
    if (!result.has_value()) {
      const std::optional<double> number = ParseFloat(text);
      if (number.has_value()) result = TruncatedFloat(*number);
    }
  } else if (input.is_integral()) {
    result = input.integer();
  } else if (input.is_float()) {
    if (std::isinf(input.number())) Fail("cannot convert float infinity to integer");
    result = TruncatedFloat(input.number());
  }
  if (result.has_value()) return Value::Of(*result, input.FromUser());
  return bound[0] == nullptr ? Value::Of(Int{0}) : *bound[0];
}

Value FloatFilter(Context&, const Value& input, const Args& args) {
  const BoundArgs bound("float", args, {"default"});
  RequireDefined(input);
  std::optional<double> result;
  if (input.is_text()) result = ParseFloat(input.text()->bytes());
  if (input.is_number()) result = input.number();
  if (result.has_value()) return Value::Of(*result, input.FromUser());
  return bound[0] == nullptr ? Value::Of(0.0) : *bound[0];
}

Value Abs(Context&, const Value& input, const Args& args) {
  const BoundArgs bound("abs", args, {});
  RequireDefined(input);
  if (!input.is_number()) Fail("bad operand type for abs(): '{}'", input.TypeName());
  if (input.is_float()) return Value::Of(std::abs(input.number()), input.FromUser());
  const Int value = input.integer();
  return Value::Of(value < 0 ? -value : value, input.FromUser());
}

// Python's round of a float: to the nearest decimal, ties of the exact value to even. Printing rounds that
// way.
double RoundFloat(double number, int precision) {
  if (!std::isfinite(number) || precision > 22) return number;
  if (precision < 0) {
    const double scale = std::pow(10.0, -precision);
    return std::nearbyint(number / scale) * scale;
  }
  char buffer[400];
  std::snprintf(buffer, sizeof(buffer), "%.*f", precision, number);
  return std::strtod(buffer, nullptr);
}

Int RoundInt(Int value, int precision) {
  if (precision >= 0) return value;
  if (precision < -30) return 0;
  Int scale = 1;
  for (int i = 0; i < -precision; ++i) scale *= 10;
  const Int magnitude = value < 0 ? -value : value;
  Int quotient = magnitude / scale;
  const Int rest = magnitude % scale;
  if (rest * 2 > scale || (rest * 2 == scale && quotient % 2 != 0)) ++quotient;
  return (value < 0 ? -quotient : quotient) * scale;
}

Value Round(Context&, const Value& input, const Args& args) {
  const BoundArgs bound("round", args, {"precision", "method"});
  const int precision = static_cast<int>(std::clamp<Int>(bound.Integer(0, 0), -300, 300));
  const std::string_view method =
      bound[1] != nullptr && bound[1]->is_text() ? bound[1]->text()->bytes() : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    Fail("method must be common, ceil or floor");
  RequireDefined(input);
  if (!input.is_number()) Fail("type {} doesn't define __round__ method", input.TypeName());
  const bool user = input.FromUser();
  if (method != "common") {
    const double scale = std::pow(10.0, precision);
    const double scaled = input.number() * scale;
    const double whole = method == "ceil" ? std::ceil(scaled) : std::floor(scaled);
    if (!std::isfinite(whole)) Fail("cannot round {}", FloatRepr(input.number()));
    return Value::Of(whole / scale, user);
  }
  if (input.is_integral()) return Value::Of(RoundInt(input.integer(), precision), user);
  return Value::Of(RoundFloat(input.number(), precision), user);
}

constexpr NamedFilter kFilters[] = {
    {"int", IntFilter}, {"float", FloatFilter}, {"abs", Abs}, {"round", Round}};

}  // namespace

std::span<const NamedFilter> NumberFilters() { return kFilters; }

}  // namespace firebrick::jinja
