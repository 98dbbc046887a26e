// Setting<T>: a value and where it came from, so that a printed reason can say "--max-model-len 8192 (flag)".
// Thread: any; a value.
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

namespace firebrick {

enum class SettingSource : uint8_t { kDefault, kFlag };

std::string_view SettingSourceName(SettingSource source);

template <typename T>
struct Setting {
  T value{};
  SettingSource source = SettingSource::kDefault;

  // NOLINTNEXTLINE(google-explicit-constructor)
  Setting(T initial = T{}) : value(std::move(initial)) {}
};

}  // namespace firebrick
