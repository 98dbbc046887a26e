#include "text/jinja/value.h"

#include <algorithm>
#include <cmath>

namespace firebrick::jinja {
namespace {

constexpr size_t kContainerOverhead = 64;
constexpr size_t kIndexFrom = 9;  // smaller dicts are searched one by one
constexpr size_t kMaxHashBytes = 1 << 20;

std::string TextHash(std::string_view text) {
  std::string hash(1, 's');
  hash += text;
  return hash;
}

void CheckDepth(int depth) {
  if (depth > Budget::kMaxValueDepth) {
    throw Failure{
        StatusCode::kResourceExhausted,
        fmt::format("the template builds values nested deeper than {} levels", Budget::kMaxValueDepth)};
  }
}

}  // namespace

bool Value::is_list() const { return is_sequence() && !list()->tuple; }
bool Value::is_tuple() const { return is_sequence() && list()->tuple; }

std::string Value::UndefinedMessage() const {
  const auto& message = std::get<Undefined>(data_).message;
  return message == nullptr ? "a value is undefined" : *message;
}

int Value::depth() const {
  if (is_sequence()) return list()->depth;
  if (is_dict()) return dict()->depth;
  if (is_object()) return object()->depth();
  return 0;
}

std::string_view Value::TypeName() const {
  if (is_undefined()) return "Undefined";
  if (is_none()) return "NoneType";
  if (is_bool()) return "bool";
  if (is_int()) return "int";
  if (is_float()) return "float";
  if (is_text()) return text()->markup() ? "Markup" : "str";
  if (is_tuple()) return "tuple";
  if (is_sequence()) return "list";
  if (is_dict()) return "dict";
  return object()->TypeName();
}

List::List(std::vector<Value> values, bool is_tuple, Budget* budget)
    : items(std::move(values)), tuple(is_tuple) {
  for (const Value& item : items) depth = std::max(depth, item.depth() + 1);
  CheckDepth(depth);
  if (budget != nullptr) {
    budget->Step(1 + items.size() / 8);
    budget->Allocate(kContainerOverhead + items.size() * sizeof(Value));
    budget_ = budget;
  }
}

List::~List() {
  if (budget_ != nullptr) budget_->Release(kContainerOverhead + items.size() * sizeof(Value));
}

Dict::Dict(std::vector<Item> pairs, Budget* budget) {
  const bool indexed = pairs.size() >= kIndexFrom;
  items.reserve(pairs.size());
  for (Item& pair : pairs) {
    depth = std::max({depth, pair.first.depth() + 1, pair.second.depth() + 1});
    if (indexed) {
      const auto [at, added] = index_.try_emplace(HashKey(pair.first), items.size());
      if (!added) {
        items[at->second].second = std::move(pair.second);
        continue;
      }
    } else if (const Value* held = Find(pair.first); held != nullptr) {
      *const_cast<Value*>(held) = std::move(pair.second);  // our own, still being built
      continue;
    }
    items.push_back(std::move(pair));
  }
  CheckDepth(depth);
  if (budget != nullptr) {
    budget->Step(1 + items.size());
    budget->Allocate(kContainerOverhead + items.size() * 2 * sizeof(Item));
    budget_ = budget;
  }
}

Dict::~Dict() {
  if (budget_ != nullptr) budget_->Release(kContainerOverhead + items.size() * 2 * sizeof(Item));
}

const Value* Dict::FindHash(const std::string& hash) const {
  if (!index_.empty()) {
    const auto found = index_.find(hash);
    return found == index_.end() ? nullptr : &items[found->second].second;
  }
  for (const Item& item : items) {
    if (HashKey(item.first) == hash) return &item.second;
  }
  return nullptr;
}

const Value* Dict::Find(const Value& key) const {
  if (key.is_text()) return Find(key.text()->bytes());
  return FindHash(HashKey(key));
}

const Value* Dict::Find(std::string_view key) const {
  if (!index_.empty()) return FindHash(TextHash(key));
  for (const Item& item : items) {
    if (item.first.is_text() && item.first.text()->bytes() == key) return &item.second;
  }
  return nullptr;
}

std::string HashKey(const Value& value) {
  if (value.is_text()) return TextHash(value.text()->bytes());
  if (value.is_none()) return "N";
  if (value.is_undefined()) return "U";
  if (value.is_integral()) return fmt::format("i{}", value.integer());
  if (value.is_float()) {
    const double number = value.number();
    if (std::abs(number) < 0x1p100 && std::trunc(number) == number) {
      return fmt::format("i{}", static_cast<Int>(number));
    }
    return fmt::format("f{}", number);
  }
  if (value.is_tuple()) {
    std::string hash = "t";
    for (const Value& item : value.list()->items) {
      const std::string inner = HashKey(item);
      hash += fmt::format("{}:{}", inner.size(), inner);
      if (hash.size() > kMaxHashBytes) Fail("a tuple is too large to be a key");
    }
    return hash;
  }
  if (value.is_object()) return fmt::format("o{}", static_cast<const void*>(value.object().get()));
  Fail("unhashable type: '{}'", value.TypeName());
}

Value Object::Call(Context&, const Args&) { Fail("'{}' object is not callable", TypeName()); }

void Object::Repr(Context&, TextBuilder* out) const {
  out->Append(fmt::format("<{} object>", TypeName()), false);
}

void Object::Contain(const Value& value) {
  depth_ = std::max(depth_, value.depth() + 1);
  CheckDepth(depth_);
}

ListPtr MakeList(std::vector<Value> items, Budget* budget) {
  return std::make_shared<const List>(std::move(items), false, budget);
}

ListPtr MakeTuple(std::vector<Value> items, Budget* budget) {
  return std::make_shared<const List>(std::move(items), true, budget);
}

}  // namespace firebrick::jinja
