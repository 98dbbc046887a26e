// links: fb_server
// Request bodies of both endpoints: whatever the bytes, a parsed body or an error of bounded size that is
// JSON.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "server/openai/body.h"

namespace {

void Check(const std::optional<firebrick::ApiError>& error) {
  if (!error) return;
  const std::string text = error->ToJson();
  if (text.size() > 8000 || !firebrick::ParseJson(text).ok()) __builtin_trap();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const firebrick::BodyLimits limits;
  firebrick::ChatBody chat;
  Check(firebrick::ParseChatBody(text, limits, &chat));
  firebrick::CompletionBody completion;
  Check(firebrick::ParseCompletionBody(text, limits, &completion));
  return 0;
}
