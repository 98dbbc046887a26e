// The tests behind `is`.
#include <algorithm>
#include <cmath>

#include "text/jinja/builtins.h"
#include "text/jinja/objects.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace firebrick::jinja {
namespace {

struct NamedTest {
  std::string_view name;
  TestFn function;
};

// A test without arguments.
template <bool (*predicate)(Context&, const Value&)>
bool Plain(Context& context, const Value& value, const Args& args) {
  const BoundArgs bound("a test", args, {});
  return predicate(context, value);
}

bool Defined(Context&, const Value& value) { return !value.is_undefined(); }
bool IsUndefined(Context&, const Value& value) { return value.is_undefined(); }
bool IsNone(Context&, const Value& value) { return value.is_none(); }
bool IsBoolean(Context&, const Value& value) { return value.is_bool(); }
bool IsTrue(Context&, const Value& value) { return value.is_bool() && value.boolean(); }
bool IsFalse(Context&, const Value& value) { return value.is_bool() && !value.boolean(); }
bool IsInteger(Context&, const Value& value) { return value.is_int(); }
bool IsFloat(Context&, const Value& value) { return value.is_float(); }
bool IsNumber(Context&, const Value& value) { return value.is_number(); }
bool IsString(Context&, const Value& value) { return value.is_text(); }
bool IsMapping(Context&, const Value& value) { return value.is_dict(); }
bool IsIterableTest(Context&, const Value& value) { return IsIterable(value); }
bool IsSequence(Context&, const Value& value) {
  if (value.is_object()) return value.object()->Subscriptable();
  return value.is_undefined() || value.is_text() || value.is_sequence() || value.is_dict();
}
bool IsCallable(Context&, const Value& value) {
  return value.is_undefined() || (value.is_object() && value.object()->Callable());
}
bool IsEscaped(Context&, const Value& value) { return value.is_text() && value.text()->markup(); }
bool IsUpper(Context& context, const Value& value) { return IsUpperText(Str(context, value)->bytes()); }
bool IsLower(Context& context, const Value& value) { return IsLowerText(Str(context, value)->bytes()); }

bool Divides(Context& context, const Value& value, const Value& divisor) {
  const Value rest = Arithmetic(context, Op::kMod, value, divisor);
  return Equal(context, rest, Value::Of(Int{0}));
}
bool IsEven(Context& context, const Value& value) { return Divides(context, value, Value::Of(Int{2})); }
bool IsOdd(Context& context, const Value& value) {
  const Value rest = Arithmetic(context, Op::kMod, value, Value::Of(Int{2}));
  return Equal(context, rest, Value::Of(Int{1}));
}
bool DivisibleBy(Context& context, const Value& value, const Args& args) {
  const BoundArgs bound("divisibleby", args, {"num"}, 1);
  return Divides(context, value, *bound[0]);
}

bool IsFilter(Context&, const Value& value) {
  return value.is_text() && FindFilter(value.text()->bytes()) != nullptr;
}
bool IsTest(Context&, const Value& value) {
  return value.is_text() && FindTest(value.text()->bytes()) != nullptr;
}

// Python's `is`, as far as it is defined for values that nothing can change: the same object, or equal
// singletons.
bool SameAs(Context& context, const Value& value, const Args& args) {
  const BoundArgs bound("sameas", args, {"other"}, 1);
  const Value& other = *bound[0];
  if (value.TypeName() != other.TypeName()) return false;
  if (value.is_sequence()) return value.list() == other.list();
  if (value.is_dict()) return value.dict() == other.dict();
  if (value.is_undefined()) return false;
  return Equal(context, value, other);
}

template <Op op>
bool Comparison(Context& context, const Value& value, const Args& args) {
  const BoundArgs bound("a comparison", args, {""}, 1);
  return Compare(context, op, value, *bound[0]);
}

bool InTest(Context& context, const Value& value, const Args& args) {
  const BoundArgs bound("in", args, {"seq"}, 1);
  return Contains(context, value, *bound[0]);
}

constexpr NamedTest kTests[] = {
    {"defined", Plain<Defined>},
    {"undefined", Plain<IsUndefined>},
    {"none", Plain<IsNone>},
    {"boolean", Plain<IsBoolean>},
    {"true", Plain<IsTrue>},
    {"false", Plain<IsFalse>},
    {"integer", Plain<IsInteger>},
    {"float", Plain<IsFloat>},
    {"number", Plain<IsNumber>},
    {"string", Plain<IsString>},
    {"mapping", Plain<IsMapping>},
    {"iterable", Plain<IsIterableTest>},
    {"sequence", Plain<IsSequence>},
    {"callable", Plain<IsCallable>},
    {"escaped", Plain<IsEscaped>},
    {"upper", Plain<IsUpper>},
    {"lower", Plain<IsLower>},
    {"even", Plain<IsEven>},
    {"odd", Plain<IsOdd>},
    {"divisibleby", DivisibleBy},
    {"filter", Plain<IsFilter>},
    {"test", Plain<IsTest>},
    {"sameas", SameAs},
    {"in", InTest},
    {"eq", Comparison<Op::kEq>},
    {"equalto", Comparison<Op::kEq>},
    {"==", Comparison<Op::kEq>},
    {"ne", Comparison<Op::kNe>},
    {"!=", Comparison<Op::kNe>},
    {"gt", Comparison<Op::kGt>},
    {"greaterthan", Comparison<Op::kGt>},
    {">", Comparison<Op::kGt>},
    {"ge", Comparison<Op::kGe>},
    {">=", Comparison<Op::kGe>},
    {"lt", Comparison<Op::kLt>},
    {"lessthan", Comparison<Op::kLt>},
    {"<", Comparison<Op::kLt>},
    {"le", Comparison<Op::kLe>},
    {"<=", Comparison<Op::kLe>},
};

}  // namespace

TestFn FindTest(std::string_view name) {
  const auto* found = std::find_if(std::begin(kTests), std::end(kTests),
                                   [name](const NamedTest& test) { return test.name == name; });
  return found == std::end(kTests) ? nullptr : found->function;
}

}  // namespace firebrick::jinja
