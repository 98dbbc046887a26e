#include "model/config_fields.h"

#include <limits>

#include "base/json.h"

namespace firebrick {
namespace {

bool FitsInt32(int64_t value) {
  return value >= std::numeric_limits<int32_t>::min() && value <= std::numeric_limits<int32_t>::max();
}

std::optional<int64_t> JsonInteger(const Json& value) {
  if (value.is_number_unsigned()) {
    const auto wide = value.get<uint64_t>();
    if (wide > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return std::nullopt;
    return static_cast<int64_t>(wide);
  }
  if (value.is_number_integer()) return value.get<int64_t>();
  // Writers store whole numbers as 8192.0 now and then.
  if (value.is_number_float()) {
    const auto real = value.get<double>();
    if (real >= -0x1p62 && real <= 0x1p62 && real == static_cast<double>(static_cast<int64_t>(real))) {
      return static_cast<int64_t>(real);
    }
  }
  return std::nullopt;
}

}  // namespace

const Json* JsonFields::Find(std::string_view name) const {
  if (!object_.is_object()) return nullptr;
  const auto it = object_.find(std::string(name));
  return it == object_.end() || it->is_null() ? nullptr : &*it;
}

void JsonFields::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void JsonFields::WrongType(std::string_view name, std::string_view wanted) {
  Fail(InvalidArgument("{}: field '{}' must be {}, but is {}; correct the file or fetch it again", where_,
                       name, wanted, object_.at(std::string(name)).dump().substr(0, 60)));
}

std::optional<int32_t> JsonFields::Int(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> integer = JsonInteger(*value);
  if (integer && FitsInt32(*integer)) return static_cast<int32_t>(*integer);
  WrongType(name, "a whole number below 2^31");
  return std::nullopt;
}

std::optional<double> JsonFields::Real(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) return value->get<double>();
  WrongType(name, "a number");
  return std::nullopt;
}

std::optional<bool> JsonFields::Bool(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_boolean()) return value->get<bool>();
  WrongType(name, "true or false");
  return std::nullopt;
}

std::optional<std::string> JsonFields::String(std::string_view name) {
  const Json* value = Find(name);
  if (value == nullptr) return std::nullopt;
  if (value->is_string()) return value->get<std::string>();
  WrongType(name, "a string");
  return std::nullopt;
}

std::vector<int32_t> JsonFields::Ints(std::string_view name) {
  const Json* value = Find(name);
  std::vector<int32_t> out;
  if (value == nullptr) return out;
  const auto append = [&](const Json& element) {
    const std::optional<int64_t> integer = JsonInteger(element);
    if (integer && FitsInt32(*integer)) {
      out.push_back(static_cast<int32_t>(*integer));
    } else {
      WrongType(name, "a whole number or a list of them");
    }
  };
  if (value->is_array()) {
    for (const Json& element : *value) append(element);
  } else {
    append(*value);
  }
  return out;
}

std::vector<std::string> JsonFields::Strings(std::string_view name) {
  const Json* value = Find(name);
  std::vector<std::string> out;
  if (value == nullptr) return out;
  if (value->is_array()) {
    for (const Json& element : *value) {
      if (element.is_string()) out.push_back(element.get<std::string>());
    }
    if (out.size() == value->size()) return out;
  }
  WrongType(name, "a list of strings");
  return {};
}

std::optional<int64_t> GgufInteger(const GgufValue& value) {
  if (const auto* integer = std::get_if<int64_t>(&value)) return *integer;
  if (const auto* integer = std::get_if<uint64_t>(&value)) {
    if (*integer <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(*integer);
    }
  }
  return std::nullopt;
}

const GgufValue* GgufFields::Find(std::string_view key) const {
  return checkpoint_.FindMetadata(prefix_ + std::string(key));
}

void GgufFields::Fail(Status status) {
  if (status_.ok()) status_ = std::move(status);
}

void GgufFields::WrongType(std::string_view key, std::string_view wanted) {
  Fail(InvalidArgument(
      "{}: metadata '{}{}' must be {}; the file is damaged or of an unknown writer, fetch it again",
      checkpoint_.path(), prefix_, key, wanted));
}

std::optional<int32_t> GgufFields::Int(std::string_view key) {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  const std::optional<int64_t> integer = GgufInteger(*value);
  if (integer && FitsInt32(*integer)) return static_cast<int32_t>(*integer);
  WrongType(key, "a whole number below 2^31");
  return std::nullopt;
}

std::optional<double> GgufFields::Real(std::string_view key) {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* real = std::get_if<double>(value)) return *real;
  if (const auto integer = GgufInteger(*value)) return static_cast<double>(*integer);
  WrongType(key, "a number");
  return std::nullopt;
}

std::optional<std::string> GgufFields::String(std::string_view key) {
  const GgufValue* value = Find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* text = std::get_if<std::string>(value)) return *text;
  WrongType(key, "a string");
  return std::nullopt;
}

int32_t GgufFields::RequireInt(std::string_view key) {
  const std::optional<int32_t> value = Int(key);
  if (!value) {
    Fail(InvalidArgument("{}: metadata '{}{}' is missing; the file is incomplete, fetch it again",
                         checkpoint_.path(), prefix_, key));
  }
  return value.value_or(0);
}

std::vector<int32_t> GgufFields::Ints(std::string_view key) {
  const GgufValue* value = Find(key);
  std::vector<int32_t> out;
  if (value == nullptr) return out;
  if (const auto* list = std::get_if<std::vector<int64_t>>(value)) {
    for (const int64_t element : *list) {
      if (!FitsInt32(element)) WrongType(key, "whole numbers below 2^31");
      out.push_back(static_cast<int32_t>(element));
    }
    return out;
  }
  if (const auto* flags = std::get_if<std::vector<bool>>(value)) {
    for (const bool flag : *flags) out.push_back(flag ? 1 : 0);
    return out;
  }
  if (const auto single = Int(key)) out.push_back(*single);
  return out;
}

}  // namespace firebrick
