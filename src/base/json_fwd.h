// Declares Json without its definition, which takes seconds to compile: for headers that only name it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace firebrick {

// JSON with the order of keys kept: chat templates and tool schemas depend on it.
using Json = nlohmann::ordered_json;

}  // namespace firebrick
