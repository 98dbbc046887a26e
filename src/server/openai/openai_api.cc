#include "server/openai/openai_api.h"

#include <algorithm>
#include <ctime>
#include <memory>
#include <random>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/json.h"

namespace firebrick {
namespace {

// OpenAI's default of the older endpoint; chat takes what is left of the context.
constexpr int32_t kDefaultCompletionTokens = 16;
constexpr std::string_view kModelsPath = "/v1/models/";

// An unseeded request differs from its neighbours.
uint64_t DrawSeed() {
  thread_local std::mt19937_64 random{(static_cast<uint64_t>(std::random_device{}()) << 32U) ^
                                      std::random_device{}()};
  return random();
}

AnswerHead MakeHead(const ServedModel& model, std::string_view prefix, const GenerationFields& fields) {
  AnswerHead head;
  head.id = fmt::format("{}{}", prefix, MakeRequestId());
  head.created = std::time(nullptr);
  head.model = fields.model.value_or(model.names.front());
  head.fingerprint = model.fingerprint;
  head.wants_logprobs = fields.num_logprobs >= 0;
  head.wants_usage = fields.include_usage;
  return head;
}

std::string ModelJson(const ServedModel& model, std::string_view name) {
  std::string json = R"({"id":)";
  AppendJsonString(name, &json);
  json += fmt::format(R"(,"object":"model","created":{},"owned_by":"firebrick","root":)", model.created);
  AppendJsonString(model.names.front(), &json);
  json += fmt::format(R"(,"parent":null,"max_model_len":{}}})", model.max_model_len);
  return json;
}

}  // namespace

std::vector<Route> OpenAiApi::Routes() {
  return {
      {"POST", "/v1/chat/completions",
       [this](HttpRequest request, Responder responder) {
         Queue(std::move(request), std::move(responder), &OpenAiApi::Chat);
       }},
      {"POST", "/v1/completions",
       [this](HttpRequest request, Responder responder) {
         Queue(std::move(request), std::move(responder), &OpenAiApi::Complete);
       }},
      {"GET", "/v1/models",
       [this](const HttpRequest&, Responder responder) { ListModels(std::move(responder)); }},
      {"GET", "/v1/models/*",
       [this](const HttpRequest& request, Responder responder) { ShowModel(request, std::move(responder)); }},
  };
}

void OpenAiApi::Queue(HttpRequest request, Responder responder, Work work) {
  if (*parts_.draining) {
    ApiError error = HttpError(503, "the server is shutting down: send the request to another one");
    error.retry_after_seconds = 5;
    return responder.Send(error.ToResponse());
  }
  // std::function wants what can be copied.
  auto job_request = std::make_shared<HttpRequest>(std::move(request));
  auto job_responder = std::make_shared<Responder>(std::move(responder));
  std::function<void()> job = [this, job_request, job_responder, work] {
    if (!job_responder->client_gone()) (this->*work)(*job_request, std::move(*job_responder));
  };
  if (!parts_.pool->TryRun(job)) {
    job_responder->Send(FromStatus(Status(StatusCode::kResourceExhausted,
                                          "too many requests wait to be read: try again later"))
                            .ToResponse());
  }
}

void OpenAiApi::Chat(const HttpRequest& request, Responder responder) {
  const ServedModel& model = *parts_.model;
  ChatBody body;
  PreparedPrompt prompt;
  GenerateRequest base;
  std::optional<ApiError> error = ParseChatBody(request.body, parts_.limits, &body);
  const GenerationFields& fields = body.fields;
  if (!error) error = CheckModelName(model, fields);
  if (!error) error = PrepareChat(model, body, &prompt);
  if (!error) error = MakeRequest(model, fields, prompt.ids.size(), std::nullopt, &base);
  if (error) return responder.Send(error->ToResponse());

  base.sampling.seed = fields.seed ? *fields.seed : DrawSeed();
  base.prompt = std::move(prompt.ids);
  std::vector<GenerateRequest> requests;
  std::vector<ChoicePlan> plans;
  for (int32_t i = 0; i < fields.n; ++i) {
    requests.push_back(base);
    requests.back().sampling.choice = static_cast<uint32_t>(i);
    plans.emplace_back().caller_stop_ids = fields.stop_token_ids;
  }
  Run(std::move(responder), MakeHead(model, "chatcmpl-", fields), MakeChatFormat(), fields, false,
      std::move(requests), std::move(plans));
}

void OpenAiApi::Complete(const HttpRequest& request, Responder responder) {
  const ServedModel& model = *parts_.model;
  CompletionBody body;
  std::vector<PreparedPrompt> prompts;
  std::vector<GenerateRequest> requests;
  std::vector<ChoicePlan> plans;
  std::optional<ApiError> error = ParseCompletionBody(request.body, parts_.limits, &body);
  const GenerationFields& fields = body.fields;
  if (!error) error = CheckModelName(model, fields);
  if (!error) error = PrepareCompletion(model, body, &prompts);
  const uint64_t seed = fields.seed ? *fields.seed : DrawSeed();
  for (size_t p = 0; p < prompts.size() && !error; ++p) {
    error = AddCompletionChoices(body, p, std::move(prompts[p]), seed, &requests, &plans);
  }
  if (error) return responder.Send(error->ToResponse());
  Run(std::move(responder), MakeHead(model, "cmpl-", fields), MakeCompletionFormat(), fields, true,
      std::move(requests), std::move(plans));
}

std::optional<ApiError> OpenAiApi::AddCompletionChoices(const CompletionBody& body, size_t prompt_idx,
                                                        PreparedPrompt prompt, uint64_t seed,
                                                        std::vector<GenerateRequest>* requests,
                                                        std::vector<ChoicePlan>* plans) const {
  const GenerationFields& fields = body.fields;
  GenerateRequest base;
  if (auto error = MakeRequest(*parts_.model, fields, prompt.ids.size(), kDefaultCompletionTokens, &base))
    return error;
  base.sampling.seed = seed;
  ChoicePlan plan;
  plan.prompt_idx = prompt_idx;
  plan.echo = body.echo;
  plan.caller_stop_ids = fields.stop_token_ids;
  if (body.echo) plan.prompt_text = std::move(prompt.text);
  if (body.echo && fields.num_logprobs >= 0) {
    plan.prompt = prompt.ids;
    base.sampling.num_prompt_logprobs = fields.num_logprobs;
  }
  base.prompt = std::move(prompt.ids);
  for (int32_t i = 0; i < fields.n; ++i) {
    requests->push_back(base);
    requests->back().sampling.choice = static_cast<uint32_t>(i);
    plans->push_back(plan);
  }
  return std::nullopt;
}

void OpenAiApi::Run(Responder responder, AnswerHead head, std::unique_ptr<AnswerFormat> format,
                    const GenerationFields& fields, bool wants_offsets, std::vector<GenerateRequest> requests,
                    std::vector<ChoicePlan> plans) {
  for (const GenerateRequest& request : requests) {
    if (request.sampling.choice == 0) parts_.metrics->ObserveParams(fields.n, request.stop.max_tokens);
  }
  Call::Facts facts;
  facts.engine = parts_.engine;
  facts.tokenizer = parts_.model->tokenizer;
  facts.wants_logprobs = fields.num_logprobs >= 0;
  facts.wants_offsets = facts.wants_logprobs && wants_offsets;
  facts.skip_special_tokens = fields.skip_special_tokens;
  const auto make_sink = fields.stream ? &MakeStreamSink : &MakeWholeSink;
  auto sink = make_sink(std::move(responder), std::move(head), std::move(format), plans.size());
  std::make_shared<Call>(facts, std::move(sink), std::move(plans))->Run(std::move(requests));
}

void OpenAiApi::ListModels(Responder responder) {
  HttpResponse response;
  response.body = R"({"object":"list","data":[)";
  for (size_t i = 0; i < parts_.model->names.size(); ++i) {
    if (i > 0) response.body.push_back(',');
    response.body += ModelJson(*parts_.model, parts_.model->names[i]);
  }
  response.body += "]}";
  responder.Send(std::move(response));
}

// A model's name may hold slashes: everything after the path is the name.
void OpenAiApi::ShowModel(const HttpRequest& request, Responder responder) {
  GenerationFields fields;
  fields.model = request.path.substr(kModelsPath.size());
  if (const std::optional<ApiError> error = CheckModelName(*parts_.model, fields)) {
    return responder.Send(error->ToResponse());
  }
  HttpResponse response;
  response.body = ModelJson(*parts_.model, *fields.model);
  responder.Send(std::move(response));
}

}  // namespace firebrick
