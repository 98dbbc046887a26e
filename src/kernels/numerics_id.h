// The name of the numeric definitions of docs/contracts/numerics.md. It is part of every prefix key and of
// whatever leaves the process: KV of different arithmetic never meets. Change it with any change of a
// definition.
#pragma once

#include <string_view>

namespace firebrick {

inline constexpr std::string_view kNumericsId = "x86-v1";

}  // namespace firebrick
