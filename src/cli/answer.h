// One request to the engine of this process, waited for. Thread: the main thread; the sink is called on the
// engine's output thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "api/delta.h"
#include "api/request.h"
#include "base/json_fwd.h"
#include "base/status.h"
#include "cli/model_session.h"

namespace firebrick {

struct Answer {
  std::string text;
  std::vector<int32_t> token_ids;
  FinishReason finish = FinishReason::kStop;
  Usage usage;
  Timings timings;
};

// Called with each new piece of text.
using OnText = std::function<void(std::string_view)>;

// Submits the request (id and sink are filled in here) and waits for its end. `interrupted` is asked a few
// times a second; true cancels the request, and the answer so far comes back with FinishReason::kCancelled.
Result<Answer> GenerateAnswer(Engine& engine, GenerateRequest request, const OnText& on_text,
                              const std::function<bool()>& interrupted);

// The messages rendered with the model's template and encoded, ready for an answer. kFailedPrecondition where
// the model has no template.
Result<std::vector<int32_t>> EncodeMessages(const LoadedModel& loaded, const Json& messages);

}  // namespace firebrick
