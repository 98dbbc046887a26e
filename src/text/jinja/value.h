// Values of the template language: Python's, without mutation. Lists and dicts never change once built, so
// cycles arise only through namespaces and macros, which the Context owns and empties at the end. Thread: one
// rendering, one thread; constants of a program are shared and read only.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/marked_text.h"

namespace firebrick::jinja {

class Context;
class Object;
class Value;
struct List;
struct Dict;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;
// Wide enough for every integer of JSON that fits 64 bits, signed or not; arithmetic beyond 2^120 fails.
using Int = __int128;

// What a missing thing is: prints as nothing, fails in arithmetic, calls and attribute reads, with this
// message.
struct Undefined {
  std::shared_ptr<const std::string> message;
};
struct None {};

class Value {
 public:
  Value() : data_(Undefined{}) {}
  static Value MakeUndefined(std::string message) {
    Value value;
    value.data_ = Undefined{std::make_shared<const std::string>(std::move(message))};
    return value;
  }
  static Value MakeNone() { return Value(Data(None{}), false); }
  static Value Of(bool boolean) { return Value(Data(boolean), false); }
  static Value Of(Int integer, bool user = false) { return Value(Data(integer), user); }
  static Value Of(double number, bool user = false) { return Value(Data(number), user); }
  static Value Of(TextPtr text) { return Value(Data(std::move(text)), false); }
  static Value Of(ListPtr list) { return Value(Data(std::move(list)), false); }
  static Value Of(DictPtr dict) { return Value(Data(std::move(dict)), false); }
  static Value Of(ObjectPtr object) { return Value(Data(std::move(object)), false); }

  bool is_undefined() const { return std::holds_alternative<Undefined>(data_); }
  bool is_none() const { return std::holds_alternative<None>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<Int>(data_); }  // not a bool
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_integral() const { return is_int() || is_bool(); }  // Python's int, of which bool is a kind
  bool is_number() const { return is_integral() || is_float(); }
  bool is_text() const { return std::holds_alternative<TextPtr>(data_); }
  bool is_list() const;  // not a tuple
  bool is_tuple() const;
  bool is_sequence() const { return std::holds_alternative<ListPtr>(data_); }  // list or tuple
  bool is_dict() const { return std::holds_alternative<DictPtr>(data_); }
  bool is_object() const { return std::holds_alternative<ObjectPtr>(data_); }

  bool boolean() const { return std::get<bool>(data_); }
  Int integer() const { return is_bool() ? Int{boolean()} : std::get<Int>(data_); }
  double number() const { return is_float() ? std::get<double>(data_) : static_cast<double>(integer()); }
  const TextPtr& text() const { return std::get<TextPtr>(data_); }
  const ListPtr& list() const { return std::get<ListPtr>(data_); }
  const DictPtr& dict() const { return std::get<DictPtr>(data_); }
  const ObjectPtr& object() const { return std::get<ObjectPtr>(data_); }
  // Why it is undefined.
  std::string UndefinedMessage() const;
  template <typename T>
  T* As() const {  // the object, if it is a T
    return is_object() ? dynamic_cast<T*>(object().get()) : nullptr;
  }

  // A number that came from the user, or text with any byte of the user's.
  bool FromUser() const { return is_text() ? text()->AnyUser() : user_; }
  Value WithUser(bool user) const {
    Value copy = *this;
    if (is_number()) copy.user_ = copy.user_ || user;
    return copy;
  }
  int depth() const;  // of nested containers
  // "str", "dict", …, as Python names it.
  std::string_view TypeName() const;

 private:
  using Data = std::variant<Undefined, None, bool, Int, double, TextPtr, ListPtr, DictPtr, ObjectPtr>;
  Value(Data data, bool user) : data_(std::move(data)), user_(user) {}
  Data data_;
  bool user_ = false;
};

// A list or a tuple.
struct List {
  List(std::vector<Value> values, bool is_tuple, Budget* budget);
  ~List();
  List(const List&) = delete;
  List& operator=(const List&) = delete;
  const std::vector<Value> items;
  const bool tuple;
  bool group = false;  // a pair (grouper, list) of the filter groupby, readable by these names, too
  int depth = 1;

 private:
  Budget* budget_ = nullptr;
};

// In order of insertion; a later value for an equal key replaces the earlier one in its place.
struct Dict {
  using Item = std::pair<Value, Value>;
  Dict(std::vector<Item> pairs, Budget* budget);
  ~Dict();
  Dict(const Dict&) = delete;
  Dict& operator=(const Dict&) = delete;
  const Value* Find(const Value& key) const;  // fails for keys that have no hash (lists, dicts)
  const Value* Find(std::string_view key) const;
  std::vector<Item> items;
  int depth = 1;

 private:
  const Value* FindHash(const std::string& hash) const;
  Budget* budget_ = nullptr;
  std::unordered_map<std::string, size_t> index_;
};

// Equal for equal keys, different for different ones: 1, 1.0 and True share theirs. Fails for lists and
// dicts.
std::string HashKey(const Value& value);

struct Args {
  std::vector<Value> positional;
  std::vector<std::pair<std::string, Value>> keywords;
};

// Everything that is not plain data.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view TypeName() const = 0;
  virtual bool Truthy(Context&) const { return true; }
  virtual std::optional<size_t> Length(Context&) const { return std::nullopt; }
  virtual bool Iterable() const { return false; }
  virtual bool Subscriptable() const { return false; }
  // The items that iteration yields; a generator yields them once. Null where it cannot be iterated.
  virtual ListPtr Items(Context&) { return nullptr; }
  // Nothing where there is no such attribute.
  virtual std::optional<Value> Attribute(Context&, std::string_view) const { return std::nullopt; }
  virtual bool Callable() const { return false; }
  virtual Value Call(Context&, const Args&);
  virtual void Repr(Context&, TextBuilder* out) const;
  int depth() const { return depth_; }

 protected:
  void Contain(const Value& value);  // raises depth() above that of `value`
  int depth_ = 0;
};

ListPtr MakeList(std::vector<Value> items, Budget* budget);
ListPtr MakeTuple(std::vector<Value> items, Budget* budget);

}  // namespace firebrick::jinja
