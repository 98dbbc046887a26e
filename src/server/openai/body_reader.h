// Typed reading of JSON fields, with errors that name the field. Included only by the *_body.cc files,
// because it brings simdjson. Thread: any.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/json.h"
#include "server/api_error.h"
#include "server/openai/body.h"

namespace firebrick {

using JsonValue = simdjson::dom::element;
using MaybeError = std::optional<ApiError>;

// One field of a body: its name as the client knows it, and its value, never null.
struct BodyField {
  std::string_view name;
  JsonValue value;
};

// Parses the text (bounded depth, valid UTF-8) and gives each field that is not null to `read`, after
// checking that no name comes twice.
class BodyParser {
 public:
  MaybeError Parse(std::string_view body, int max_depth);
  // Valid after Parse.
  std::vector<BodyField> TakeFields() { return std::move(fields_); }

 private:
  simdjson::dom::parser parser_;
  std::string padded_;
  std::vector<BodyField> fields_;
};

MaybeError ReadBool(const BodyField& field, bool* out);
MaybeError ReadInteger(const BodyField& field, int64_t min, int64_t max, int64_t* out);
MaybeError ReadInt32(const BodyField& field, int32_t min, int32_t max, int32_t* out);
MaybeError ReadReal(const BodyField& field, double min, double max, double* out);
MaybeError ReadText(const BodyField& field, std::string* out);
MaybeError ReadTokenIds(const BodyField& field, size_t max_count, std::vector<int32_t>* out);
// Any JSON as nlohmann's, with every string checked to be valid UTF-8.
MaybeError ReadAny(const BodyField& field, Json* out);

// The fields common to both endpoints. False in *known where `field` is not one of them.
MaybeError ReadGenerationField(const BodyField& field, const BodyLimits& limits, GenerationFields* out,
                               bool* known);
// For a field that neither endpoint honours: fine where it is documented as ignored or says what is done
// anyway, else an error that names it.
MaybeError RefuseOrIgnore(const BodyField& field);
// Rules between fields.
MaybeError CheckTogether(const GenerationFields& fields, bool has_stream_options);

}  // namespace firebrick
