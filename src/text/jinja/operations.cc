#include "text/jinja/operations.h"

#include <algorithm>
#include <cmath>

#include "text/jinja/objects.h"

namespace firebrick::jinja {
namespace {

constexpr Int kLargest = Int{1} << 120;

Value CheckedInt(Int value, bool user) {
  if (value > kLargest || value < -kLargest) Fail("an integer grows beyond 120 bits");
  return Value::Of(value, user);
}

Value Multiply(Int a, Int b, bool user) {
  const double estimate = static_cast<double>(a) * static_cast<double>(b);
  if (std::abs(estimate) > 0x1p119) Fail("an integer grows beyond 120 bits");
  return Value::Of(a * b, user);
}

Int FloorDivide(Int a, Int b) {
  if (b == 0) Fail("integer division or modulo by zero");
  const Int quotient = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? quotient - 1 : quotient;
}

double FloorMod(double a, double b) {
  if (b == 0) Fail("float modulo by zero");
  double rest = std::fmod(a, b);
  if (rest != 0 && ((rest < 0) != (b < 0))) rest += b;
  return rest == 0 ? std::copysign(0.0, b) : rest;
}

Value IntegerPower(Int base, Int exponent, bool user) {
  if (exponent < 0) {
    if (base == 0) Fail("0.0 cannot be raised to a negative power");
    return Value::Of(std::pow(static_cast<double>(base), static_cast<double>(exponent)), user);
  }
  Value result = Value::Of(Int{1}, user);
  if (base == 0 || base == 1) return exponent == 0 ? result : Value::Of(base, user);
  if (base == -1) return Value::Of(Int{exponent % 2 == 0 ? 1 : -1}, user);
  for (Int i = 0; i < exponent; ++i)
    result = Multiply(result.integer(), base, user);  // fails after 120 turns
  return result;
}

Value NumberArithmetic(Op op, const Value& a, const Value& b) {
  const bool user = a.FromUser() || b.FromUser();
  if (a.is_integral() && b.is_integral() && op != Op::kDiv) {
    const Int x = a.integer(), y = b.integer();
    switch (op) {
      case Op::kAdd:
        return CheckedInt(x + y, user);
      case Op::kSub:
        return CheckedInt(x - y, user);
      case Op::kMul:
        return Multiply(x, y, user);
      case Op::kFloorDiv:
        return Value::Of(FloorDivide(x, y), user);
      case Op::kMod:
        return Value::Of(x - FloorDivide(x, y) * y, user);
      default:
        return IntegerPower(x, y, user);
    }
  }
  const double x = a.number(), y = b.number();
  switch (op) {
    case Op::kAdd:
      return Value::Of(x + y, user);
    case Op::kSub:
      return Value::Of(x - y, user);
    case Op::kMul:
      return Value::Of(x * y, user);
    case Op::kDiv:
      if (y == 0) Fail("division by zero");
      return Value::Of(x / y, user);
    case Op::kFloorDiv:
      if (y == 0) Fail("float floor division by zero");
      return Value::Of(std::floor(x / y), user);
    case Op::kMod:
      return Value::Of(FloorMod(x, y), user);
    default: {
      const double power = std::pow(x, y);
      if (std::isnan(power) && !std::isnan(x) && !std::isnan(y)) Fail("a negative number to a broken power");
      if (std::isinf(power) && std::isfinite(x) && std::isfinite(y)) Fail("a power is too large");
      return Value::Of(power, user);
    }
  }
}

Value Repeat(Context& context, const Value& sequence, const Value& count) {
  const Int times = std::max<Int>(count.integer(), 0);
  const size_t length =
      sequence.is_text() ? sequence.text()->size() : sequence.list()->items.size() * sizeof(Value);
  if (length > 0 && times > static_cast<Int>(context.budget().limits().max_memory_bytes / length)) {
    context.budget().Expect(context.budget().limits().max_memory_bytes + 1);
  }
  const auto turns = length == 0 ? 0 : static_cast<size_t>(times);
  context.budget().Expect(length * turns);
  context.budget().Touch(length * turns);
  if (sequence.is_text()) {
    TextBuilder out(&context.budget());
    for (size_t i = 0; i < turns; ++i) out.Append(*sequence.text());
    return Value::Of(out.Build(sequence.text()->markup()));
  }
  std::vector<Value> items;
  items.reserve(turns * sequence.list()->items.size());
  for (size_t i = 0; i < turns; ++i) {
    items.insert(items.end(), sequence.list()->items.begin(), sequence.list()->items.end());
  }
  return Value::Of(std::make_shared<const List>(std::move(items), sequence.is_tuple(), &context.budget()));
}

Value AddTexts(Context& context, TextPtr a, TextPtr b) {
  const bool markup = a->markup() || b->markup();
  if (markup && !a->markup()) a = EscapeHtml(context, a);
  if (markup && !b->markup()) b = EscapeHtml(context, b);
  TextBuilder out(&context.budget());
  out.Append(*a);
  out.Append(*b);
  return Value::Of(out.Build(markup));
}

std::string_view Symbol(Op op) {
  static constexpr std::string_view kSymbols[] = {
      "+", "-", "*", "/", "//", "%", "**", "==", "!=", "<", "<=", ">", ">=", "in", "not in"};
  return kSymbols[static_cast<size_t>(op)];
}

bool EqualSequences(Context& context, const std::vector<Value>& a, const std::vector<Value>& b) {
  return a.size() == b.size() &&
         std::equal(a.begin(), a.end(), b.begin(),
                    [&context](const Value& x, const Value& y) { return Equal(context, x, y); });
}

bool EqualDicts(Context& context, const Dict& a, const Dict& b) {
  if (a.items.size() != b.items.size()) return false;
  return std::all_of(a.items.begin(), a.items.end(), [&](const Dict::Item& item) {
    const Value* other = b.Find(item.first);
    return other != nullptr && Equal(context, item.second, *other);
  });
}

}  // namespace

void RequireDefined(const Value& value) {
  if (value.is_undefined()) Fail("{}", value.UndefinedMessage());
}

bool Truthy(Context& context, const Value& value) {
  if (value.is_undefined() || value.is_none()) return false;
  if (value.is_integral()) return value.integer() != 0;
  if (value.is_float()) return value.number() != 0;
  if (value.is_text()) return !value.text()->empty();
  if (value.is_sequence()) return !value.list()->items.empty();
  if (value.is_dict()) return !value.dict()->items.empty();
  return value.object()->Truthy(context);
}

std::optional<size_t> LengthOf(Context& context, const Value& value) {
  if (value.is_undefined()) return 0;
  if (value.is_text()) return value.text()->num_chars();
  if (value.is_sequence()) return value.list()->items.size();
  if (value.is_dict()) return value.dict()->items.size();
  if (value.is_object()) return value.object()->Length(context);
  return std::nullopt;
}

size_t RequireLength(Context& context, const Value& value) {
  const std::optional<size_t> length = LengthOf(context, value);
  if (!length.has_value()) Fail("object of type '{}' has no len()", value.TypeName());
  return *length;
}

bool IsIterable(const Value& value) {
  return value.is_undefined() || value.is_text() || value.is_sequence() || value.is_dict() ||
         (value.is_object() && value.object()->Iterable());
}

ListPtr Items(Context& context, const Value& value) {
  if (value.is_list()) return value.list();
  if (!IsIterable(value)) Fail("'{}' object is not iterable", value.TypeName());
  if (value.is_object()) return value.object()->Items(context);
  std::vector<Value> items;
  if (value.is_tuple()) {
    items = value.list()->items;
  } else if (value.is_text()) {
    const TextPtr& text = value.text();
    context.budget().Expect(text->num_chars() * (sizeof(Value) + sizeof(Text)));
    for (size_t at = 0, next = 0; at < text->size(); at = next) {
      for (next = at + 1; next < text->size() && (text->bytes()[next] & 0xC0) == 0x80;) ++next;
      items.push_back(Value::Of(SubText(text, at, next, &context.budget())));
    }
  } else if (value.is_dict()) {
    for (const Dict::Item& item : value.dict()->items) items.push_back(item.first);
  }
  return MakeList(std::move(items), &context.budget());
}

bool Equal(Context& context, const Value& a, const Value& b) {
  context.budget().Step();
  if (a.is_text() && b.is_text()) return a.text()->bytes() == b.text()->bytes();
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() == b.integer();
    if (a.is_float() && b.is_float()) return a.number() == b.number();
    return HashKey(a) == HashKey(b);  // exact between integers and floats
  }
  if (a.is_sequence() && b.is_sequence()) {
    return a.is_tuple() == b.is_tuple() &&
           (a.list() == b.list() || EqualSequences(context, a.list()->items, b.list()->items));
  }
  if (a.is_dict() && b.is_dict()) return a.dict() == b.dict() || EqualDicts(context, *a.dict(), *b.dict());
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (!a.is_object() || !b.is_object()) return false;
  if (a.As<Range>() != nullptr && b.As<Range>() != nullptr) {
    return EqualSequences(context, Items(context, a)->items, Items(context, b)->items);
  }
  return a.object() == b.object();
}

bool Less(Context& context, const Value& a, const Value& b, std::string_view op) {
  context.budget().Step();
  RequireDefined(a);
  RequireDefined(b);
  if (a.is_number() && b.is_number()) {
    if (a.is_integral() && b.is_integral()) return a.integer() < b.integer();
    return a.number() < b.number();
  }
  if (a.is_text() && b.is_text()) {
    context.budget().Touch(std::min(a.text()->size(), b.text()->size()));
    return a.text()->bytes() < b.text()->bytes();  // the order of UTF-8 is that of its characters
  }
  if (a.is_sequence() && b.is_sequence() && a.is_tuple() == b.is_tuple()) {
    const auto& x = a.list()->items;
    const auto& y = b.list()->items;
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if (!Equal(context, x[i], y[i])) return Less(context, x[i], y[i], op);
    }
    return x.size() < y.size();
  }
  Fail("'{}' not supported between instances of '{}' and '{}'", op, a.TypeName(), b.TypeName());
}

bool Compare(Context& context, Op op, const Value& a, const Value& b) {
  switch (op) {
    case Op::kEq:
      return Equal(context, a, b);
    case Op::kNe:
      return !Equal(context, a, b);
    case Op::kLt:
      return Less(context, a, b, "<");
    case Op::kGt:
      return Less(context, b, a, ">");
    case Op::kLe:
      return Less(context, a, b, "<=") || Equal(context, a, b);
    case Op::kGe:
      return Less(context, b, a, ">=") || Equal(context, a, b);
    case Op::kIn:
      return Contains(context, a, b);
    default:
      return !Contains(context, a, b);
  }
}

bool Contains(Context& context, const Value& needle, const Value& haystack) {
  if (haystack.is_text()) {
    RequireDefined(needle);
    if (!needle.is_text()) {
      Fail("'in <string>' requires string as left operand, not {}", needle.TypeName());
    }
    context.budget().Touch(haystack.text()->size());
    return haystack.text()->bytes().find(needle.text()->bytes()) != std::string_view::npos;
  }
  if (haystack.is_dict()) return haystack.dict()->Find(needle) != nullptr;
  if (!IsIterable(haystack)) Fail("argument of type '{}' is not iterable", haystack.TypeName());
  const ListPtr items = Items(context, haystack);
  return std::any_of(items->items.begin(), items->items.end(),
                     [&](const Value& item) { return Equal(context, item, needle); });
}

Value Arithmetic(Context& context, Op op, const Value& a, const Value& b) {
  context.budget().Step();
  RequireDefined(a);
  if (op == Op::kMod && a.is_text()) return Value::Of(FormatPercent(context, a.text(), b));
  RequireDefined(b);
  if (a.is_number() && b.is_number()) return NumberArithmetic(op, a, b);
  if (op == Op::kAdd && a.is_text() && b.is_text()) return AddTexts(context, a.text(), b.text());
  if (op == Op::kAdd && a.is_sequence() && b.is_sequence() && a.is_tuple() == b.is_tuple()) {
    std::vector<Value> items = a.list()->items;
    context.budget().Expect((items.size() + b.list()->items.size()) * sizeof(Value));
    items.insert(items.end(), b.list()->items.begin(), b.list()->items.end());
    return Value::Of(std::make_shared<const List>(std::move(items), a.is_tuple(), &context.budget()));
  }
  if (op == Op::kMul && (a.is_text() || a.is_sequence()) && b.is_integral()) return Repeat(context, a, b);
  if (op == Op::kMul && (b.is_text() || b.is_sequence()) && a.is_integral()) return Repeat(context, b, a);
  Fail("unsupported operand types for {}: '{}' and '{}'", Symbol(op), a.TypeName(), b.TypeName());
}

Value Negate(const Value& value) {
  RequireDefined(value);
  if (value.is_integral()) return Value::Of(-value.integer(), value.FromUser());
  if (value.is_float()) return Value::Of(-value.number(), value.FromUser());
  Fail("bad operand type for unary -: '{}'", value.TypeName());
}

Value CallValue(Context& context, const Value& function, const Args& args) {
  RequireDefined(function);
  if (!function.is_object() || !function.object()->Callable()) {
    Fail("'{}' object is not callable", function.TypeName());
  }
  const ObjectPtr object = function.object();  // alive while it runs
  return object->Call(context, args);
}

}  // namespace firebrick::jinja
