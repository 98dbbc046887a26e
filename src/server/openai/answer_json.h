// JSON of the parts that both answer formats share. Private to server/openai.
#pragma once

#include <string>
#include <string_view>

#include "server/openai/answer.h"

namespace firebrick {

// Valid UTF-8: ill-formed sequences become U+FFFD.
std::string ReplaceInvalidUtf8(std::string_view bytes);
// A finite JSON number; what is none (log of zero) becomes -9999.0.
void AppendLogprob(float value, std::string* out);
// "finish_reason":…,"stop_reason":…
void AppendFinish(const AnswerPiece& piece, std::string* out);

}  // namespace firebrick
