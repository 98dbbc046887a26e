#include "server/openai/prompt.h"

#include <algorithm>

#include <fmt/format.h>

namespace firebrick {
namespace {

using MaybeError = std::optional<ApiError>;

// Below this a temperature is greedy: dividing logits by it would overflow.
constexpr double kGreedyTemperature = 1e-5;
// top_p 0 keeps the likeliest token only.
constexpr double kSmallestTopP = 1e-9;

// Text work fails because of what the client sent, also where it ran into a limit of ours.
ApiError TextError(const Status& status, std::string_view param, std::string_view doing) {
  ApiError error = FromStatus(status);
  if (status.code() != StatusCode::kInternal) {
    error = BadField(param, "");
    error.code =
        status.code() == StatusCode::kResourceExhausted || status.code() == StatusCode::kDeadlineExceeded
            ? "limit_exceeded"
            : "invalid_value";
  }
  error.message = fmt::format("{}: {}", doing, status.message());
  return error;
}

MaybeError CheckIds(const ServedModel& model, std::string_view param, const std::vector<int32_t>& ids) {
  for (const int32_t id : ids) {
    if (id < 0 || id >= model.vocab_size) {
      return BadField(param, fmt::format("'{}' names the token {}, but the vocabulary has ids 0 to {}", param,
                                         id, model.vocab_size - 1));
    }
  }
  return std::nullopt;
}

MaybeError CheckLength(const ServedModel& model, const GenerationFields& fields, std::string_view param,
                       size_t num_prompt_tokens) {
  const auto limit = static_cast<size_t>(model.max_model_len);
  const auto wanted = static_cast<size_t>(std::max(1, fields.max_tokens.value_or(1)));
  if (num_prompt_tokens + wanted <= limit) return std::nullopt;
  std::string message;
  if (num_prompt_tokens + 1 > limit) {
    message = fmt::format(
        "the prompt has {} tokens, but the maximum context length is {} tokens, prompt and answer together: "
        "shorten the "
        "prompt or serve with a larger --max-model-len",
        num_prompt_tokens, limit);
  } else {
    message = fmt::format(
        "the prompt has {} tokens and {} more are asked for, but the maximum context length is {} tokens: "
        "ask for at "
        "most {} or shorten the prompt",
        num_prompt_tokens, wanted, limit, limit - num_prompt_tokens);
  }
  return BadField(param, std::move(message), "context_length_exceeded");
}

SamplingParams MakeSampling(const GenerationDefaults& defaults, const GenerationFields& fields) {
  SamplingParams sampling;
  const double temperature = fields.temperature.value_or(defaults.temperature.value_or(1.0F));
  sampling.temperature = temperature < kGreedyTemperature ? 0.0F : static_cast<float>(temperature);
  sampling.top_k = fields.top_k.value_or(defaults.top_k.value_or(0));
  sampling.top_p =
      static_cast<float>(std::max(kSmallestTopP, fields.top_p.value_or(defaults.top_p.value_or(1.0F))));
  sampling.min_p = static_cast<float>(fields.min_p.value_or(defaults.min_p.value_or(0.0F)));
  sampling.repetition_penalty =
      static_cast<float>(fields.repetition_penalty.value_or(defaults.repetition_penalty.value_or(1.0F)));
  sampling.presence_penalty = static_cast<float>(fields.presence_penalty);
  sampling.frequency_penalty = static_cast<float>(fields.frequency_penalty);
  sampling.seed = fields.seed.value_or(0);
  sampling.logit_bias = fields.logit_bias;
  sampling.allowed_token_ids = fields.allowed_token_ids;
  sampling.num_logprobs = fields.num_logprobs;
  return sampling;
}

}  // namespace

MaybeError CheckModelName(const ServedModel& model, const GenerationFields& fields) {
  if (!fields.model ||
      std::find(model.names.begin(), model.names.end(), *fields.model) != model.names.end()) {
    return std::nullopt;
  }
  ApiError error = BadField("model",
                            fmt::format("the model '{}' is not served here; this server has '{}'",
                                        fields.model->substr(0, 200), model.names.front()),
                            "model_not_found");
  error.status = 404;
  error.type = "not_found_error";
  return error;
}

bool CutAfterFinalMessage(const std::string& content, RenderedPrompt* prompt) {
  constexpr std::string_view kBlank = " \t\r\n";
  const size_t begin = content.find_first_not_of(kBlank);
  if (begin == std::string::npos) return false;
  const std::string trimmed = content.substr(begin, content.find_last_not_of(kBlank) + 1 - begin);
  const std::string text = prompt->Text();
  const size_t at = text.rfind(trimmed);
  if (at == std::string::npos) return false;
  // Blanks at the end of the message stay where the template kept them.
  size_t end = at + trimmed.size();
  for (size_t tail = begin + trimmed.size();
       tail < content.size() && end < text.size() && text[end] == content[tail]; ++tail) {
    ++end;
  }
  size_t offset = 0;
  for (size_t i = 0; i < prompt->spans.size(); ++i) {
    std::string& span = prompt->spans[i].text;
    if (offset + span.size() >= end) {
      span.resize(end - offset);
      prompt->spans.resize(i + 1);
      return true;
    }
    offset += span.size();
  }
  return false;
}

MaybeError PrepareChat(const ServedModel& model, const ChatBody& body, PreparedPrompt* out) {
  if (model.chat_template == nullptr) {
    return BadField(
        "messages",
        fmt::format("the model '{}' has no chat template (a base model): use /v1/completions, or serve it "
                    "with --chat-template FILE",
                    model.names.front()),
        "no_chat_template");
  }
  ChatTemplate::Request request;
  request.messages = body.messages;
  request.add_generation_prompt = body.add_generation_prompt.value_or(!body.continue_final_message);
  request.bos_token = model.bos_token;
  request.eos_token = model.eos_token;
  request.extra = body.template_kwargs;
  Result<RenderedPrompt> rendered = model.chat_template->Render(request);
  if (!rendered.ok())
    return TextError(rendered.status(), "messages", "the chat template did not take the messages");
  if (body.continue_final_message &&
      !CutAfterFinalMessage(body.messages.back()["content"].get<std::string>(), &*rendered)) {
    return BadField("continue_final_message",
                    "the final message cannot be continued: it is empty, or the template of "
                    "this model changes it");
  }
  std::vector<TextSpan> spans;
  for (const RenderedPrompt::Span& span : rendered->spans) spans.push_back({span.text, span.allow_special});
  Result<std::vector<int32_t>> ids = model.tokenizer->Encode(spans, false);
  if (!ids.ok()) return TextError(ids.status(), "messages", "the messages could not be tokenised");
  if (ids->empty()) return BadField("messages", "the messages make an empty prompt");
  out->ids = std::move(ids).value();
  return CheckLength(model, body.fields, "messages", out->ids.size());
}

MaybeError PrepareCompletion(const ServedModel& model, const CompletionBody& body,
                             std::vector<PreparedPrompt>* out) {
  for (const auto& given : body.prompts) {
    PreparedPrompt prompt;
    if (const auto* ids = std::get_if<std::vector<int32_t>>(&given)) {
      if (MaybeError error = CheckIds(model, "prompt", *ids)) return error;
      prompt.ids = *ids;
      if (body.echo) prompt.text = model.tokenizer->Decode(*ids, false);
    } else {
      prompt.text = std::get<std::string>(given);
      Result<std::vector<int32_t>> encoded =
          model.tokenizer->Encode(prompt.text, SpecialTokens::kRecognise, body.add_special_tokens);
      if (!encoded.ok()) return TextError(encoded.status(), "prompt", "the prompt could not be tokenised");
      prompt.ids = std::move(encoded).value();
      // An empty prompt starts from the token that begins every text.
      if (prompt.ids.empty() && model.tokenizer->bos_id()) prompt.ids.push_back(*model.tokenizer->bos_id());
    }
    if (prompt.ids.empty()) return BadField("prompt", "'prompt' has no tokens");
    if (MaybeError error = CheckLength(model, body.fields, "prompt", prompt.ids.size())) return error;
    out->push_back(std::move(prompt));
  }
  return std::nullopt;
}

MaybeError MakeRequest(const ServedModel& model, const GenerationFields& fields, size_t num_prompt_tokens,
                       std::optional<int32_t> default_max_tokens, GenerateRequest* out) {
  std::vector<int32_t> biased;
  for (const auto& [token, bias] : fields.logit_bias) biased.push_back(token);
  if (MaybeError error = CheckIds(model, "logit_bias", biased)) return error;
  if (MaybeError error = CheckIds(model, "allowed_token_ids", fields.allowed_token_ids)) return error;
  if (MaybeError error = CheckIds(model, "stop_token_ids", fields.stop_token_ids)) return error;

  const int32_t left = model.max_model_len - static_cast<int32_t>(num_prompt_tokens);
  out->sampling = MakeSampling(model.defaults, fields);
  out->stop.max_tokens = fields.max_tokens.value_or(std::min(default_max_tokens.value_or(left), left));
  out->stop.min_tokens = fields.min_tokens;
  if (fields.min_tokens > out->stop.max_tokens) {
    return BadField("min_tokens",
                    fmt::format("'min_tokens' must not exceed the {} tokens that the answer may have",
                                out->stop.max_tokens));
  }
  out->stop.stop_token_ids = fields.stop_token_ids;
  if (!fields.ignore_eos) {
    out->stop.stop_token_ids.insert(out->stop.stop_token_ids.end(), model.end_ids.begin(),
                                    model.end_ids.end());
  }
  out->stop.stop_strings = fields.stop;
  out->stop.include_stop_string = fields.include_stop;
  out->skip_special_tokens = fields.skip_special_tokens;
  out->priority = fields.priority;
  out->cache_salt = fields.cache_salt;
  return std::nullopt;
}

}  // namespace firebrick
