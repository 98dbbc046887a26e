// ApiServer: the HTTP server with every endpoint on it. Contract: docs/contracts/server.md.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "engine/engine.h"
#include "http/server.h"
#include "server/metrics.h"
#include "server/openai/body.h"
#include "server/served_model.h"

namespace firebrick {

struct ApiServerConfig {
  HttpServerOptions http;  // format_error is set here
  BodyLimits body_limits;
  int text_threads = 2;  // JSON, templates, tokenising
  int text_queue = 256;  // requests that wait for them; beyond: 429
  std::string version;
};

// Thread: all members from any thread but the server's own. Owner: the serve command. Stopped before the
// engine is destroyed, because calls in flight cancel themselves there.
class ApiServer {
 public:
  // `model` is kept; engine and metrics outlive the server.
  static Result<std::unique_ptr<ApiServer>> Start(ApiServerConfig config, ServedModel model, Engine* engine,
                                                  ServerMetrics* metrics);
  ~ApiServer();
  ApiServer(const ApiServer&) = delete;
  ApiServer& operator=(const ApiServer&) = delete;

  uint16_t port() const;
  // From here on /ready and new generation answer 503; what runs goes on and /health stays 200.
  void BeginDrain();
  // Stops accepting, lets answers in progress be written for at most `grace`, cuts the rest, joins the
  // threads.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit ApiServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace firebrick
