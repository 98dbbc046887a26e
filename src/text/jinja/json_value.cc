#include "text/jinja/json_value.h"

#include <algorithm>
#include <array>

#include "base/json.h"
#include "base/utf8.h"

namespace firebrick::jinja {
namespace {

constexpr int kMaxJsonDepth = Budget::kMaxValueDepth - 20;

bool IsKnownRole(std::string_view role) {
  static constexpr std::array<std::string_view, 9> kRoles = {"system",  "user",        "assistant",
                                                             "tool",    "developer",   "function",
                                                             "ipython", "observation", "environment"};
  return std::find(kRoles.begin(), kRoles.end(), role) != kRoles.end();
}

Value FromText(Context& context, const std::string& text, bool user) {
  if (!IsValidUtf8(text)) Fail("a string of the request is not valid UTF-8");
  return context.Str(text, user);
}

Value Convert(Context& context, const Json& json, int depth) {
  if (depth > kMaxJsonDepth) Fail("the request nests deeper than {} levels", kMaxJsonDepth);
  switch (json.type()) {
    case Json::value_t::null:
      return Value::MakeNone();
    case Json::value_t::boolean:
      return Value::Of(json.get<bool>());
    case Json::value_t::number_integer:
      return Value::Of(Int{json.get<int64_t>()}, true);
    case Json::value_t::number_unsigned:
      return Value::Of(Int{json.get<uint64_t>()}, true);
    case Json::value_t::number_float:
      return Value::Of(json.get<double>(), true);
    case Json::value_t::string:
      return FromText(context, json.get_ref<const std::string&>(), true);
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& item : json) items.push_back(Convert(context, item, depth + 1));
      return context.NewList(std::move(items));
    }
    case Json::value_t::object: {
      std::vector<Dict::Item> items;
      items.reserve(json.size());
      for (const auto& [key, value] : json.items()) {
        items.emplace_back(FromText(context, key, true), Convert(context, value, depth + 1));
      }
      return context.NewDict(std::move(items));
    }
    default:
      Fail("the request holds a value that is not JSON");
  }
}

Value FromMessage(Context& context, const Json& message) {
  if (!message.is_object()) return Convert(context, message, 1);
  std::vector<Dict::Item> items;
  for (const auto& [key, value] : message.items()) {
    const bool trusted =
        key == "role" && value.is_string() && IsKnownRole(value.get_ref<const std::string&>());
    items.emplace_back(
        FromText(context, key, true),
        trusted ? FromText(context, value.get_ref<const std::string&>(), false) : Convert(context, value, 2));
  }
  return context.NewDict(std::move(items));
}

}  // namespace

Value FromJson(Context& context, const Json& json) { return Convert(context, json, 0); }

Value FromMessages(Context& context, const Json& messages) {
  if (!messages.is_array()) return FromJson(context, messages);
  std::vector<Value> items;
  items.reserve(messages.size());
  for (const Json& message : messages) items.push_back(FromMessage(context, message));
  return context.NewList(std::move(items));
}

}  // namespace firebrick::jinja
