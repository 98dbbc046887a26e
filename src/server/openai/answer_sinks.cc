// The two sinks of an answer: server-sent events, and one JSON object.
#include <functional>

#include <fmt/format.h>

#include "base/json.h"
#include "server/openai/answer.h"

namespace firebrick {
namespace {

// {"id":…,"object":…,"created":…,"model":…,"system_fingerprint":…,"choices":[
std::string Opening(const AnswerHead& head, std::string_view object) {
  std::string out = R"({"id":)";
  AppendJsonString(head.id, &out);
  out += fmt::format(R"(,"object":"{}","created":{},"model":)", object, head.created);
  AppendJsonString(head.model, &out);
  out += R"(,"system_fingerprint":)";
  AppendJsonString(head.fingerprint, &out);
  out += R"(,"choices":[)";
  return out;
}

class StreamSink final : public AnswerSink {
 public:
  StreamSink(Responder responder, AnswerHead head, std::unique_ptr<AnswerFormat> format, size_t num_choices)
      : responder_(std::move(responder)),
        head_(std::move(head)),
        format_(std::move(format)),
        opening_(Opening(head_, format_->object(true))),
        begun_choices_(num_choices, false) {}

  bool Add(AnswerPiece piece) override {
    const bool first = !begun_choices_[piece.choice];
    begun_choices_[piece.choice] = true;
    choices_.clear();
    format_->AppendChunkChoices(piece, first, head_.wants_logprobs, &choices_);
    events_.clear();
    for (const std::string& choice : choices_) {
      events_ += "data: ";
      events_ += opening_;
      events_ += choice;
      events_ += head_.wants_usage ? R"(],"usage":null})" : "]}";
      events_ += "\n\n";
    }
    if (events_.empty()) return !responder_.client_gone();
    Begin();
    return responder_.Write(events_);
  }

  void End(const Usage& usage) override {
    std::string events;
    if (head_.wants_usage) {
      std::string chunk = opening_ + R"(],"usage":)";
      AppendUsage(usage, &chunk);
      chunk.push_back('}');
      AppendSseEvent(chunk, &events);
    }
    AppendSseEvent("[DONE]", &events);
    Begin();
    responder_.Write(events);
    responder_.Finish();
  }

  void Fail(const ApiError& error) override {
    if (!begun_) return responder_.Send(error.ToResponse());
    std::string events;
    AppendSseEvent(error.ToJson(), &events);
    AppendSseEvent("[DONE]", &events);
    responder_.Write(events);
    responder_.Finish();
  }

  void OnDisconnect(std::function<void()> callback) override { responder_.OnDisconnect(std::move(callback)); }

 private:
  // Not before the first piece: until then a failure can still have an HTTP status of its own.
  void Begin() {
    if (begun_) return;
    begun_ = true;
    responder_.StartStream(200, "text/event-stream; charset=utf-8",
                           {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}});
  }

  Responder responder_;
  const AnswerHead head_;
  const std::unique_ptr<AnswerFormat> format_;
  const std::string opening_;
  std::vector<bool> begun_choices_;
  std::vector<std::string> choices_;  // of one piece; kept for their memory
  std::string events_;
  bool begun_ = false;
};

class WholeSink final : public AnswerSink {
 public:
  WholeSink(Responder responder, AnswerHead head, std::unique_ptr<AnswerFormat> format, size_t num_choices)
      : responder_(std::move(responder)),
        head_(std::move(head)),
        format_(std::move(format)),
        choices_(num_choices) {
    for (size_t i = 0; i < num_choices; ++i) choices_[i].choice = i;
  }

  bool Add(AnswerPiece piece) override {
    choices_[piece.choice].Append(std::move(piece));
    return !responder_.client_gone();
  }

  void End(const Usage& usage) override {
    HttpResponse response;
    response.body = Opening(head_, format_->object(false));
    for (size_t i = 0; i < choices_.size(); ++i) {
      if (i > 0) response.body.push_back(',');
      format_->AppendWholeChoice(choices_[i], head_.wants_logprobs, &response.body);
    }
    response.body += R"(],"usage":)";
    AppendUsage(usage, &response.body);
    response.body.push_back('}');
    responder_.Send(std::move(response));
  }

  void Fail(const ApiError& error) override { responder_.Send(error.ToResponse()); }
  void OnDisconnect(std::function<void()> callback) override { responder_.OnDisconnect(std::move(callback)); }

 private:
  Responder responder_;
  const AnswerHead head_;
  const std::unique_ptr<AnswerFormat> format_;
  std::vector<AnswerPiece> choices_;
};

}  // namespace

std::unique_ptr<AnswerSink> MakeStreamSink(Responder responder, AnswerHead head,
                                           std::unique_ptr<AnswerFormat> format, size_t num_choices) {
  return std::make_unique<StreamSink>(std::move(responder), std::move(head), std::move(format), num_choices);
}

std::unique_ptr<AnswerSink> MakeWholeSink(Responder responder, AnswerHead head,
                                          std::unique_ptr<AnswerFormat> format, size_t num_choices) {
  return std::make_unique<WholeSink>(std::move(responder), std::move(head), std::move(format), num_choices);
}

}  // namespace firebrick
