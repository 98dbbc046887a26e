// Logging through spdlog to standard error. Thread: any.
// Use FB_LOG_INFO("loaded {} tensors", n). Prompt text never goes into the log.
#pragma once

#include <string_view>

#include <spdlog/spdlog.h>

#include "base/status.h"

namespace firebrick {

// Sends the default logger to standard error at `level` (trace, debug, info, warn, error, off).
Status ConfigureLog(std::string_view level);

}  // namespace firebrick

#define FB_LOG_DEBUG(...) ::spdlog::debug(__VA_ARGS__)
#define FB_LOG_INFO(...) ::spdlog::info(__VA_ARGS__)
#define FB_LOG_WARN(...) ::spdlog::warn(__VA_ARGS__)
#define FB_LOG_ERROR(...) ::spdlog::error(__VA_ARGS__)
