// links: fb_http
// The small parsers of src/http/message.h: targets, queries, percent escapes, request ids.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "http/message.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::string path;
  std::string query;
  if (firebrick::SplitTarget(text, &path, &query)) {
    if (path.empty() || path.find('\0') != std::string::npos) __builtin_trap();
    if (const auto pairs = firebrick::ParseQuery(query); pairs && pairs->size() > 64) __builtin_trap();
  }
  (void)firebrick::IsSafeRequestId(text);
  return 0;
}
