#include "base/env.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

namespace firebrick {

std::optional<std::string> GetEnv(const char* name) {
  const char* value = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

bool EnvFlag(const char* name) {
  std::string value = GetEnv(name).value_or("");
  std::transform(value.begin(), value.end(), value.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  static constexpr std::array<std::string_view, 4> kTrue = {"1", "true", "yes", "on"};
  return std::find(kTrue.begin(), kTrue.end(), value) != kTrue.end();
}

std::string CacheFolder() {
  return GetEnv("XDG_CACHE_HOME").value_or(GetEnv("HOME").value_or("/root") + "/.cache");
}

}  // namespace firebrick
