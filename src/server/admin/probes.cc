#include "server/admin/probes.h"

#include <chrono>

#include <fmt/format.h>

#include "base/json.h"
#include "server/api_error.h"

namespace firebrick {
namespace {

// A step of the largest batch on the slowest machine that we know of stays far below this.
constexpr std::chrono::seconds kStuckAfter{60};

}  // namespace

std::vector<Route> Probes::Routes() {
  const auto alive = [](const HttpRequest&, Responder responder) {
    responder.Send(
        {.status = 200, .content_type = "application/json", .body = R"({"status":"ok"})", .headers = {}});
  };
  return {
      {"GET", "/health", alive},
      {"GET", "/v1/health", alive},
      {"GET", "/ping", alive},
      {"GET", "/ready", [this](const HttpRequest&, Responder responder) { Ready(std::move(responder)); }},
      {"GET", "/version",
       [this](const HttpRequest&, Responder responder) {
         HttpResponse response;
         response.body = R"({"version":)";
         AppendJsonString(parts_.version, &response.body);
         response.body.push_back('}');
         responder.Send(std::move(response));
       }},
      {"GET", "/metrics",
       [this](const HttpRequest&, Responder responder) {
         responder.Send({.status = 200,
                         .content_type = "text/plain; version=0.0.4; charset=utf-8",
                         .body = parts_.metrics->Render(parts_.engine->Counters()),
                         .headers = {}});
       }},
  };
}

// Not ready: draining, or work waits and no step has ended for a minute. A full queue is busy, not unready.
void Probes::Ready(Responder responder) {
  if (*parts_.draining) return responder.Send(HttpError(503, "the server is shutting down").ToResponse());
  const EngineCounters counters = parts_.engine->Counters();
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  const auto since_step = now - std::chrono::nanoseconds(counters.last_step_ns);
  const bool has_work = counters.num_running + counters.num_waiting > 0;
  if (has_work && counters.last_step_ns > 0 && since_step > kStuckAfter) {
    return responder.Send(
        HttpError(503, fmt::format("no step has ended for {} s although requests wait",
                                   std::chrono::duration_cast<std::chrono::seconds>(since_step).count()))
            .ToResponse());
  }
  responder.Send(
      {.status = 200, .content_type = "application/json", .body = R"({"status":"ready"})", .headers = {}});
}

}  // namespace firebrick
