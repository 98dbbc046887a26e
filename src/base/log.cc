#include "base/log.h"

#include <spdlog/sinks/stdout_color_sinks.h>

namespace firebrick {

Status ConfigureLog(std::string_view level) {
  const auto parsed = spdlog::level::from_str(std::string(level));
  if (parsed == spdlog::level::off && level != "off") {
    return InvalidArgument("unknown log level '{}'; use trace, debug, info, warn, error or off", level);
  }
  auto logger =
      std::make_shared<spdlog::logger>("firebrick", std::make_shared<spdlog::sinks::stderr_color_sink_mt>());
  logger->set_pattern("%Y-%m-%dT%H:%M:%S.%e %^%l%$ %v");
  logger->set_level(parsed);
  spdlog::set_default_logger(std::move(logger));
  return OkStatus();
}

}  // namespace firebrick
