#include "engine/lifecycle.h"

#include <utility>

namespace firebrick {

Result<Submission> CheckRequest(GenerateRequest request, const SchedulerConfig& config,
                                const Tokenizer* tokenizer) {
  RETURN_IF_ERROR(ValidateRequest(config, request));
  if (request.sink == nullptr) return InvalidArgument("the request has no sink for its output");
  Submission submission;
  submission.submitted = std::chrono::steady_clock::now();
  if (!request.stop.stop_strings.empty()) {
    if (tokenizer == nullptr) return InvalidArgument("stop strings need a tokenizer; this engine has none");
    ASSIGN_OR_RETURN(submission.stops,
                     StopMatcher::Create(request.stop.stop_strings, request.stop.include_stop_string));
  }
  submission.request = std::move(request);
  return submission;
}

void Accept(Submission submission, const Tokenizer* tokenizer, Scheduler* scheduler, OutputRouter* router) {
  router->Open(OutputStream(&submission, tokenizer));
  scheduler->Add(std::move(submission.request));
}

}  // namespace firebrick
