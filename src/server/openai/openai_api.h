// The OpenAI endpoints: /v1/chat/completions, /v1/completions, /v1/models.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "engine/engine.h"
#include "server/metrics.h"
#include "server/openai/answer.h"
#include "server/openai/body.h"
#include "server/openai/call.h"
#include "server/openai/prompt.h"
#include "server/routes.h"
#include "server/served_model.h"
#include "server/work_pool.h"

namespace firebrick {

// Thread: the routes are called on io threads and hand their work to the pool. What it is made from outlives
// it, and it outlives the pool's jobs.
class OpenAiApi {
 public:
  struct Parts {
    const ServedModel* model = nullptr;
    BodyLimits limits;
    Engine* engine = nullptr;
    ServerMetrics* metrics = nullptr;
    WorkPool* pool = nullptr;
    const std::atomic<bool>* draining = nullptr;  // new generation is refused with 503 while true
  };
  explicit OpenAiApi(Parts parts) : parts_(parts) {}

  std::vector<Route> Routes();

 private:
  using Work = void (OpenAiApi::*)(const HttpRequest& request, Responder responder);

  // On an io thread: refuses at once, or queues `work` for the pool.
  void Queue(HttpRequest request, Responder responder, Work work);
  // On a pool thread.
  void Chat(const HttpRequest& request, Responder responder);
  void Complete(const HttpRequest& request, Responder responder);
  // One prompt's choices, appended.
  std::optional<ApiError> AddCompletionChoices(const CompletionBody& body, size_t prompt_idx,
                                               PreparedPrompt prompt, uint64_t seed,
                                               std::vector<GenerateRequest>* requests,
                                               std::vector<ChoicePlan>* plans) const;
  void Run(Responder responder, AnswerHead head, std::unique_ptr<AnswerFormat> format,
           const GenerationFields& fields, bool wants_offsets, std::vector<GenerateRequest> requests,
           std::vector<ChoicePlan> plans);
  void ListModels(Responder responder);
  void ShowModel(const HttpRequest& request, Responder responder);

  const Parts parts_;
};

}  // namespace firebrick
