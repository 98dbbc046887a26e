#include "config/setting.h"

namespace firebrick {

std::string_view SettingSourceName(SettingSource source) {
  return source == SettingSource::kFlag ? "flag" : "default";
}

}  // namespace firebrick
