// Typed reads of configuration fields, from config.json or from GGUF metadata. The first fault is kept and
// returned by status(), so that a parser reads many fields and checks once. Thread: a value of its caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json_fwd.h"
#include "base/status.h"
#include "weights/checkpoint.h"

namespace firebrick {

// Fields of one JSON object; `where` names it in errors. A field that is null counts as absent.
class JsonFields {
 public:
  JsonFields(const Json& object, std::string where) : object_(object), where_(std::move(where)) {}

  bool Has(std::string_view name) const { return Find(name) != nullptr; }
  const Json* Find(std::string_view name) const;  // nullptr where absent or null
  std::optional<int32_t> Int(std::string_view name);
  std::optional<double> Real(std::string_view name);
  std::optional<bool> Bool(std::string_view name);
  std::optional<std::string> String(std::string_view name);
  // A number or a list of numbers; empty where absent.
  std::vector<int32_t> Ints(std::string_view name);
  std::vector<std::string> Strings(std::string_view name);

  void Fail(Status status);
  const Status& status() const { return status_; }
  const std::string& where() const { return where_; }
  const Json& object() const { return object_; }

 private:
  void WrongType(std::string_view name, std::string_view wanted);
  const Json& object_;
  std::string where_;
  Status status_;
};

// Metadata of a GGUF below "ARCHITECTURE.".
class GgufFields {
 public:
  GgufFields(const Checkpoint& checkpoint, std::string architecture)
      : checkpoint_(checkpoint), prefix_(std::move(architecture) + ".") {}

  std::optional<int32_t> Int(std::string_view key);
  std::optional<double> Real(std::string_view key);
  std::optional<std::string> String(std::string_view key);
  // As Int, but a missing key is a fault.
  int32_t RequireInt(std::string_view key);
  // Scalar or per-layer array; a scalar comes back as one element. Empty where absent.
  std::vector<int32_t> Ints(std::string_view key);

  void Fail(Status status);
  const Status& status() const { return status_; }
  const Checkpoint& checkpoint() const { return checkpoint_; }

 private:
  const GgufValue* Find(std::string_view key) const;
  void WrongType(std::string_view key, std::string_view wanted);
  const Checkpoint& checkpoint_;
  std::string prefix_;
  Status status_;
};

// An integer of a GGUF value, where it is one and fits.
std::optional<int64_t> GgufInteger(const GgufValue& value);

}  // namespace firebrick
