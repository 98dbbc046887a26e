// From a parsed body to what the engine takes: prompt ids and sampling, with the model's defaults filled in
// and everything checked against the model. Thread: any; text work, so not an io thread.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "api/request.h"
#include "server/api_error.h"
#include "server/openai/body.h"
#include "server/served_model.h"

namespace firebrick {

struct PreparedPrompt {
  std::vector<int32_t> ids;  // at least one
  std::string text;          // of a completion prompt: as given, or decoded where ids were given
};

std::optional<ApiError> CheckModelName(const ServedModel& model, const GenerationFields& fields);

// Renders with the model's template and tokenises.
std::optional<ApiError> PrepareChat(const ServedModel& model, const ChatBody& body, PreparedPrompt* out);
std::optional<ApiError> PrepareCompletion(const ServedModel& model, const CompletionBody& body,
                                          std::vector<PreparedPrompt>* out);

// Cuts a rendered prompt after the text of its final message, so that the answer continues it. False where
// that text does not come through the template unchanged.
bool CutAfterFinalMessage(const std::string& content, RenderedPrompt* prompt);

// Everything of a request but id, prompt, choice and sink. `default_max_tokens` is used where the caller
// gives none: nullopt means all that is left of the context.
std::optional<ApiError> MakeRequest(const ServedModel& model, const GenerationFields& fields,
                                    size_t num_prompt_tokens, std::optional<int32_t> default_max_tokens,
                                    GenerateRequest* out);

}  // namespace firebrick
