// State of one rendering that filters, methods and functions share. Thread: one rendering, one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace firebrick::jinja {

// Something that can be part of a cycle. The Context keeps it alive until the end and then empties it.
class Clearable {
 public:
  virtual ~Clearable() = default;
  virtual void Clear() = 0;
};

class Context {
 public:
  Context(const TemplateLimits& limits, int64_t now_seconds) : budget_(limits), now_seconds_(now_seconds) {}
  ~Context() {
    for (const auto& owned : owned_) owned->Clear();
  }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  Budget& budget() { return budget_; }
  int64_t now_seconds() const { return now_seconds_; }

  void Own(std::shared_ptr<Clearable> owned) {
    budget_.Allocate(kOwnedBytes);
    owned_.push_back(std::move(owned));
  }
  Value Str(std::string_view text, bool user = false) {
    return Value::Of(Text::Make(std::string(text), user, &budget_));
  }
  Value NewList(std::vector<Value> items) { return Value::Of(MakeList(std::move(items), &budget_)); }
  Value NewTuple(std::vector<Value> items) { return Value::Of(MakeTuple(std::move(items), &budget_)); }
  Value NewDict(std::vector<Dict::Item> items) {
    return Value::Of(std::make_shared<const Dict>(std::move(items), &budget_));
  }
  template <typename T, typename... Params>
  Value NewObject(Params&&... params) {
    budget_.Step();
    return Value::Of(ObjectPtr(std::make_shared<T>(std::forward<Params>(params)...)));
  }

 private:
  static constexpr size_t kOwnedBytes = 256;
  Budget budget_;  // first: outlives the values
  int64_t now_seconds_;
  std::vector<std::shared_ptr<Clearable>> owned_;
};

// The arguments of a call by name, as the signature of a Python function takes them. Fails on surplus,
// unknown, doubled and missing ones.
class BoundArgs {
 public:
  BoundArgs(std::string_view function, const Args& args, std::initializer_list<std::string_view> names,
            size_t num_required = 0);
  // Null where the argument was left out.
  const Value* operator[](size_t index) const { return values_[index]; }
  bool Flag(Context& context, size_t index, bool otherwise) const;
  Int Integer(size_t index, Int otherwise) const;  // fails where it is no integer

 private:
  std::string_view function_;
  std::vector<const Value*> values_;
};

}  // namespace firebrick::jinja
