// Responder: the handle by which any thread answers one HTTP request, whole or as a stream.
// Thread: any; calls never block and never touch the socket. Owner: whoever makes the answer; move-only.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "http/message.h"

namespace firebrick {

class HttpTransaction;

class Responder {
 public:
  explicit Responder(std::shared_ptr<HttpTransaction> transaction);
  Responder(Responder&&) noexcept = default;
  Responder& operator=(Responder&&) noexcept = delete;
  Responder(const Responder&) = delete;
  Responder& operator=(const Responder&) = delete;
  // An answer never begun becomes a 500; a stream never finished is cut, so that the client sees the break.
  ~Responder();

  // The whole answer. The first of Send and StartStream counts; a later one is ignored.
  void Send(HttpResponse response);

  // Begins a stream: chunked for HTTP/1.1, ended by close for HTTP/1.0.
  void StartStream(int status, std::string_view content_type, const HttpHeaders& headers);
  // Queues bytes of the stream. False: the client is gone or was cut for reading too slowly; stop producing.
  bool Write(std::string_view bytes);
  void Finish();

  // Runs `callback` once, on an io thread, where the client leaves or is cut before the answer is finished;
  // at once on this thread where that has happened already. Dropped unrun when the answer finishes.
  void OnDisconnect(std::function<void()> callback);
  bool client_gone() const;

 private:
  std::shared_ptr<HttpTransaction> transaction_;
};

}  // namespace firebrick
