// One request and the answer to it, shared by the connection (io thread) and the Responder (any thread), and
// the inbox that carries "there is output" to an io thread at one wake-up for many. Private to the room.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "http/message.h"

namespace firebrick {

class Connection;
class HttpTransaction;

// Transactions with output for one io thread. However many are added while the thread is busy, it is woken
// once. Owner: shared by the io thread and its transactions, which may outlive the server (the engine holds
// responders).
class IoInbox {
 public:
  explicit IoInbox(std::function<void()> wake) : wake_(std::move(wake)) {}

  void Add(std::shared_ptr<HttpTransaction> transaction);
  std::vector<std::shared_ptr<HttpTransaction>> Take();
  // After this nothing wakes the thread any more.
  void Close();

  // Set when the server drains: answers say "Connection: close".
  std::atomic<bool> draining{false};

 private:
  std::mutex mutex_;
  std::function<void()> wake_;
  std::vector<std::shared_ptr<HttpTransaction>> ready_;
};

class HttpTransaction : public std::enable_shared_from_this<HttpTransaction> {
 public:
  struct Facts {
    std::string request_id;
    bool keep_alive = true;
    bool is_head = false;  // the body is counted and not sent
    int http_minor = 1;
    size_t max_outbox_bytes = 0;
  };
  // What the connection is to write next.
  struct Output {
    std::string head;
    std::string body;
    bool chunked = false;
    bool last = false;
    bool keep_alive = false;
    bool empty() const { return head.empty() && body.empty() && !last; }
  };

  HttpTransaction(Facts facts, std::shared_ptr<IoInbox> inbox, std::weak_ptr<Connection> connection)
      : facts_(std::move(facts)), inbox_(std::move(inbox)), connection_(std::move(connection)) {}

  // The responder's side: any thread.
  void Send(HttpResponse response);
  void StartStream(int status, std::string_view content_type, const HttpHeaders& headers);
  bool Write(std::string_view bytes);
  void Finish();
  void Abandon();
  void OnDisconnect(std::function<void()> callback);
  bool client_gone() const;

  // The connection's side: its io thread.
  Output Take();
  void Wrote();
  bool finished() const;  // the answer is complete, though perhaps not written
  bool cut() const;       // the connection is to be closed without a proper end
  void MarkGone();        // runs the disconnect callback where the answer is unfinished
  std::weak_ptr<Connection> connection() const { return connection_; }

 private:
  std::string RenderHead(int status, std::string_view content_type, const HttpHeaders& headers,
                         std::string_view framing);
  void NotifyLocked();

  const Facts facts_;
  const std::shared_ptr<IoInbox> inbox_;
  const std::weak_ptr<Connection> connection_;

  mutable std::mutex mutex_;
  std::string head_;
  std::string pending_;
  size_t in_flight_bytes_ = 0;
  bool begun_ = false;
  bool chunked_ = false;
  bool keep_alive_ = false;
  bool finished_ = false;
  bool gone_ = false;
  bool cut_ = false;
  bool queued_ = false;  // stands in the inbox
  std::function<void()> on_disconnect_;
};

}  // namespace firebrick
