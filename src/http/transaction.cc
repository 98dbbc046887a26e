#include "http/transaction.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include <fmt/format.h>

#include "http/responder.h"

namespace firebrick {
namespace {

// A header value from inside could carry user text: control characters would split the answer.
void AppendHeader(std::string_view name, std::string_view value, std::string* out) {
  out->append(name).append(": ");
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    out->push_back(byte < 0x20 || byte == 0x7F ? ' ' : c);
  }
  out->append("\r\n");
}

std::string HttpDate() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[40];
  const size_t size = std::strftime(text, sizeof text, "%a, %d %b %Y %H:%M:%S GMT", &parts);
  return {text, size};
}

}  // namespace

void IoInbox::Add(std::shared_ptr<HttpTransaction> transaction) {
  const std::lock_guard lock(mutex_);
  if (!wake_) return;
  ready_.push_back(std::move(transaction));
  if (ready_.size() == 1) wake_();
}

std::vector<std::shared_ptr<HttpTransaction>> IoInbox::Take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(ready_, {});
}

void IoInbox::Close() {
  std::vector<std::shared_ptr<HttpTransaction>> dropped;
  const std::lock_guard lock(mutex_);
  wake_ = nullptr;
  dropped.swap(ready_);
}

std::string HttpTransaction::RenderHead(int status, std::string_view content_type, const HttpHeaders& headers,
                                        std::string_view framing) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\n", status, HttpReason(status));
  AppendHeader("Date", HttpDate(), &head);
  if (!content_type.empty()) AppendHeader("Content-Type", content_type, &head);
  AppendHeader("X-Request-Id", facts_.request_id, &head);
  for (const HttpHeader& header : headers) AppendHeader(header.name, header.value, &head);
  head.append(framing);
  head.append(keep_alive_ ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n");
  return head;
}

void HttpTransaction::NotifyLocked() {
  if (queued_) return;
  queued_ = true;
  inbox_->Add(shared_from_this());
}

void HttpTransaction::Send(HttpResponse response) {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  if (begun_ || gone_) return;
  begun_ = finished_ = true;
  keep_alive_ = facts_.keep_alive && !inbox_->draining;
  head_ = RenderHead(response.status, response.content_type, response.headers,
                     fmt::format("Content-Length: {}\r\n", response.body.size()));
  if (!facts_.is_head) pending_ = std::move(response.body);
  dropped.swap(on_disconnect_);
  NotifyLocked();
}

void HttpTransaction::StartStream(int status, std::string_view content_type, const HttpHeaders& headers) {
  const std::lock_guard lock(mutex_);
  if (begun_ || gone_) return;
  begun_ = true;
  chunked_ = facts_.http_minor >= 1;
  keep_alive_ = chunked_ && facts_.keep_alive && !inbox_->draining;
  head_ = RenderHead(status, content_type, headers, chunked_ ? "Transfer-Encoding: chunked\r\n" : "");
  NotifyLocked();
}

bool HttpTransaction::Write(std::string_view bytes) {
  const std::lock_guard lock(mutex_);
  if (gone_ || !begun_ || finished_) return false;
  if (facts_.is_head || bytes.empty()) return true;
  if (pending_.size() + in_flight_bytes_ + bytes.size() > facts_.max_outbox_bytes) {
    gone_ = cut_ = true;
    NotifyLocked();
    return false;
  }
  pending_.append(bytes);
  NotifyLocked();
  return true;
}

void HttpTransaction::Finish() {
  std::function<void()> dropped;
  const std::lock_guard lock(mutex_);
  if (gone_ || !begun_ || finished_) return;
  finished_ = true;
  dropped.swap(on_disconnect_);
  NotifyLocked();
}

void HttpTransaction::Abandon() {
  {
    const std::lock_guard lock(mutex_);
    if (finished_ || gone_) return;
    if (begun_) {
      gone_ = cut_ = true;
      on_disconnect_ = nullptr;
      NotifyLocked();
      return;
    }
  }
  Send({.status = 500, .content_type = "text/plain", .body = "no answer was made\n", .headers = {}});
}

void HttpTransaction::OnDisconnect(std::function<void()> callback) {
  {
    const std::lock_guard lock(mutex_);
    if (finished_) return;
    if (!gone_) {
      on_disconnect_ = std::move(callback);
      return;
    }
  }
  callback();
}

bool HttpTransaction::client_gone() const {
  const std::lock_guard lock(mutex_);
  return gone_;
}

HttpTransaction::Output HttpTransaction::Take() {
  const std::lock_guard lock(mutex_);
  queued_ = false;
  Output output;
  output.head = std::exchange(head_, {});
  output.body = std::exchange(pending_, {});
  output.chunked = chunked_ && !facts_.is_head;
  output.last = finished_;
  output.keep_alive = keep_alive_;
  in_flight_bytes_ = output.body.size();
  return output;
}

void HttpTransaction::Wrote() {
  const std::lock_guard lock(mutex_);
  in_flight_bytes_ = 0;
}

bool HttpTransaction::finished() const {
  const std::lock_guard lock(mutex_);
  return finished_;
}

bool HttpTransaction::cut() const {
  const std::lock_guard lock(mutex_);
  return cut_;
}

void HttpTransaction::MarkGone() {
  std::function<void()> callback;
  {
    const std::lock_guard lock(mutex_);
    gone_ = true;
    if (!finished_) callback.swap(on_disconnect_);
  }
  if (callback) callback();
}

Responder::Responder(std::shared_ptr<HttpTransaction> transaction) : transaction_(std::move(transaction)) {}
Responder::~Responder() {
  if (transaction_) transaction_->Abandon();
}
void Responder::Send(HttpResponse response) { transaction_->Send(std::move(response)); }
void Responder::StartStream(int status, std::string_view content_type, const HttpHeaders& headers) {
  transaction_->StartStream(status, content_type, headers);
}
bool Responder::Write(std::string_view bytes) { return transaction_->Write(bytes); }
void Responder::Finish() { transaction_->Finish(); }
void Responder::OnDisconnect(std::function<void()> callback) {
  transaction_->OnDisconnect(std::move(callback));
}
bool Responder::client_gone() const { return transaction_->client_gone(); }

}  // namespace firebrick
