// The environment of the process: the one place that reads it. Thread: any, as long as nobody calls setenv.
#pragma once

#include <optional>
#include <string>

namespace firebrick {

// The value of a variable; nothing where it is unset or empty.
std::optional<std::string> GetEnv(const char* name);
// True for 1, true, yes and on, in any case; false for all else.
bool EnvFlag(const char* name);
// $XDG_CACHE_HOME, or ~/.cache.
std::string CacheFolder();

}  // namespace firebrick
