// JSON text: an escaping appender for what we write, a bounded parser for what we read.
// Parsing goes through nlohmann (order kept); request bodies on the hot path use simdjson in server/.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

#include "base/json_fwd.h"
#include "base/status.h"

namespace firebrick {

// Appends `text` as a JSON string with its quotes. `text` must be valid UTF-8.
void AppendJsonString(std::string_view text, std::string* out);

// Parses one JSON text. Refuses a nesting deeper than max_depth, invalid UTF-8, duplicate-free is not
// checked. The error says the byte offset.
Result<Json> ParseJson(std::string_view text, size_t max_depth = 128);

}  // namespace firebrick
