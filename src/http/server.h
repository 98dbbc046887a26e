// HTTP/1.1 server on Boost.Asio: one io_context per thread, a read always armed so that a client that leaves
// is seen while its answer is still being made, every buffer, count and wait bounded. Knows nothing of LLMs.
// Contract: docs/contracts/server.md.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "http/message.h"
#include "http/responder.h"

namespace firebrick {

struct HttpLimits {
  size_t max_header_bytes = 32U << 10U;     // request line and headers; beyond: 431
  size_t max_body_bytes = 16U << 20U;       // one body; beyond: 413
  size_t max_buffered_bytes = 256U << 20U;  // all bodies held by connections at one moment; beyond: 503
  size_t max_connections = 1024;            // beyond: 503 and close
  size_t max_pipelined_bytes = 64U << 10U;  // read ahead while an answer is being made; then reading pauses
  size_t max_outbox_bytes = 1U << 20U;  // of a stream not yet taken by the kernel; beyond: the client is cut
  int send_buffer_bytes = 128 << 10;    // SO_SNDBUF, so that the kernel does not hide a slow reader
  std::chrono::milliseconds header_timeout{
      10'000};  // first byte (of a new connection: accept) to end of headers: 408
  std::chrono::milliseconds body_timeout{60'000};  // end of headers to end of body: 408
  std::chrono::milliseconds idle_timeout{75'000};  // keep-alive without a request: close
  // A write must end within this much plus one second per 16 KiB: else the client is cut.
  std::chrono::milliseconds write_timeout{30'000};
};

struct HttpServerOptions {
  std::string host = "127.0.0.1";  // address or name
  uint16_t port = 8000;            // 0: the kernel chooses
  int threads = 2;
  HttpLimits limits;
  // The body (JSON) of an answer that the server itself gives: bad syntax, limits, time limits.
  std::function<std::string(int status, std::string_view message)> format_error;
};

// Called on an io thread: must not block. May answer at once or keep the responder for another thread.
using HttpHandler = std::function<void(HttpRequest request, Responder responder)>;

class HttpServer {
 public:
  // Binds, listens and starts the threads.
  static Result<std::unique_ptr<HttpServer>> Start(HttpServerOptions options, HttpHandler handler);
  // Stops at once (see Stop with no grace).
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  uint16_t port() const;
  size_t num_connections() const;

  // Stops accepting, closes idle connections, lets requests in progress finish for at most `grace`, cuts the
  // rest (their disconnect callbacks run) and joins the threads. Blocks; not from an io thread. Idempotent.
  void Stop(std::chrono::milliseconds grace);

 private:
  class Impl;
  explicit HttpServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace firebrick
