#include "http/connection.h"

#include <algorithm>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/error.hpp>
#include <fmt/format.h>

#include "base/log.h"

namespace firebrick {
namespace {

namespace asio = boost::asio;
namespace beast_http = boost::beast::http;
using std::chrono::milliseconds;

// After a last answer we read and drop what the client still sends, so that the kernel does not answer unread
// bytes with a reset that would destroy our answer on its way.
constexpr milliseconds kLingerTime{2000};
constexpr size_t kLingerBytes = 8U << 20U;
constexpr size_t kSlowestBytesPerSecond = 16U << 10U;

std::string_view View(boost::beast::string_view text) { return {text.data(), text.size()}; }

int StatusOf(const boost::system::error_code& error) {
  if (error == beast_http::error::header_limit || error == beast_http::error::buffer_overflow) return 431;
  if (error == beast_http::error::body_limit) return 413;
  if (error == beast_http::error::bad_version) return 505;
  return 400;
}

}  // namespace

Connection::Connection(Socket socket, HttpShared* shared, std::shared_ptr<IoInbox> inbox,
                       std::function<void(Connection*)> on_close)
    : socket_(std::move(socket)),
      timer_(socket_.get_executor()),
      shared_(shared),
      inbox_(std::move(inbox)),
      on_close_(std::move(on_close)) {
  ++shared_->num_connections;
}

Connection::~Connection() { --shared_->num_connections; }

void Connection::Start() {
  ErrorCode ignored;
  socket_.set_option(asio::ip::tcp::no_delay(true), ignored);
  socket_.set_option(asio::socket_base::keep_alive(true), ignored);
  socket_.set_option(asio::socket_base::send_buffer_size(shared_->limits.send_buffer_bytes), ignored);
  const auto endpoint = socket_.remote_endpoint(ignored);
  if (!ignored) remote_ = fmt::format("{}:{}", endpoint.address().to_string(), endpoint.port());
  SetReadDeadline(shared_->limits.header_timeout);
  ReadMore();
}

void Connection::ReadMore() {
  if (reading_ || read_closed_ || closed_) return;
  if (current_ && input_.size() - input_pos_ >= shared_->limits.max_pipelined_bytes) return;
  reading_ = true;
  socket_.async_read_some(asio::buffer(chunk_), [self = shared_from_this()](ErrorCode error, size_t size) {
    self->OnRead(error, size);
  });
}

void Connection::OnRead(ErrorCode error, size_t size) {
  reading_ = false;
  if (closed_) return;
  if (error) return OnReadEnd(error == asio::error::eof);
  if (lingering_) {
    lingered_bytes_ += size;
    if (lingered_bytes_ > kLingerBytes) return Close();
    return ReadMore();
  }
  // The time for headers runs from their first byte, not from the end of the last answer.
  if (!current_ && !parser_ && input_pos_ == input_.size()) SetReadDeadline(shared_->limits.header_timeout);
  input_.append(chunk_.data(), size);
  ParseInput();
  ReadMore();
}

// The end of what the client sends is taken for its leaving: a half-closed socket cannot be told from a
// closed one until we write. Answers that are complete are still written.
void Connection::OnReadEnd(bool orderly) {
  read_closed_ = true;
  if (orderly && !lingering_ && current_ && current_->finished()) return;
  Close();
}

void Connection::ParseInput() {
  while (!current_ && !closed_ && !lingering_ && input_pos_ < input_.size() && ParseStep()) {
  }
  if (input_pos_ == input_.size()) {
    input_.clear();
    input_pos_ = 0;
  } else if (input_pos_ > chunk_.size()) {
    input_.erase(0, input_pos_);
    input_pos_ = 0;
  }
}

bool Connection::ParseStep() {
  if (!parser_) {
    // Empty lines before a request line are allowed (RFC 9112, 2.2).
    while (input_pos_ < input_.size() && (input_[input_pos_] == '\r' || input_[input_pos_] == '\n'))
      ++input_pos_;
    if (input_pos_ == input_.size()) return false;
    parser_.emplace();
    parser_->header_limit(static_cast<uint32_t>(shared_->limits.max_header_bytes));
    parser_->body_limit(shared_->limits.max_body_bytes);
    header_accepted_ = false;
    header_bytes_ = 0;
  }
  ErrorCode error;
  const size_t used =
      parser_->put(asio::buffer(input_.data() + input_pos_, input_.size() - input_pos_), error);
  input_pos_ += used;
  // Beast holds its own limit against each piece that it is given, not against the sum.
  if (!header_accepted_) header_bytes_ += used;
  const bool needs_more = error == beast_http::error::need_more;
  if (error && !needs_more) {
    const int status = StatusOf(error);
    Reject(status, fmt::format("the request was refused while it was read: {}", error.message()));
    return false;
  }
  if (!header_accepted_ && header_bytes_ > shared_->limits.max_header_bytes) {
    Reject(431, fmt::format("request line and headers are longer than {} bytes",
                            shared_->limits.max_header_bytes));
    return false;
  }
  if (parser_->is_header_done() && !header_accepted_) {
    header_accepted_ = true;
    if (!AcceptHeader()) return false;
    parser_->eager(true);
    if (!parser_->is_done()) return true;
  }
  if (!CountBody()) return false;
  if (parser_->is_done()) {
    Dispatch();
    return false;
  }
  // A line of chunk framing that never ends.
  if (needs_more && input_.size() - input_pos_ > shared_->limits.max_header_bytes) {
    Reject(400, "the framing of a chunked body has a line without an end");
    return false;
  }
  return used > 0 && !needs_more;
}

// Takes the head over into request_, and refuses what must be refused before a body is read.
bool Connection::AcceptHeader() {
  const auto& message = parser_->get();
  request_ = HttpRequest{};
  request_.method = std::string(View(message.method_string()));
  request_.target = std::string(View(message.target()));
  request_.http_minor = message.version() == 10 ? 0 : 1;
  request_.remote = remote_;
  size_t num_hosts = 0;
  for (const auto& field : message) {
    request_.headers.push_back({std::string(View(field.name_string())), std::string(View(field.value()))});
    if (field.name() == beast_http::field::host) ++num_hosts;
  }
  const std::string_view id = request_.Header("x-request-id");
  request_.id = IsSafeRequestId(id) ? std::string(id) : MakeRequestId();
  if (request_.http_minor == 1 && num_hosts != 1) {
    Reject(400, "an HTTP/1.1 request needs exactly one Host header");
    return false;
  }
  if (!SplitTarget(request_.target, &request_.path, &request_.query)) {
    Reject(400, "the request target is not a path");
    return false;
  }
  return AcceptFraming();
}

bool Connection::AcceptFraming() {
  const std::string_view coding = request_.Header("transfer-encoding");
  const bool has_length = !request_.Header("content-length").empty();
  if (!coding.empty() && (!EqualsIgnoreCase(coding, "chunked") || request_.http_minor == 0)) {
    Reject(501, "the only transfer coding taken is chunked, with HTTP/1.1");
    return false;
  }
  if (!coding.empty() && has_length) {
    Reject(400, "Content-Length and Transfer-Encoding exclude each other");
    return false;
  }
  const std::string& method = request_.method;
  if (coding.empty() && !has_length && (method == "POST" || method == "PUT" || method == "PATCH")) {
    Reject(411, "a body needs a Content-Length or chunked coding");
    return false;
  }
  const std::string_view content_coding = request_.Header("content-encoding");
  if (!content_coding.empty() && !EqualsIgnoreCase(content_coding, "identity")) {
    Reject(415, "compressed bodies are not taken: send the body without Content-Encoding");
    return false;
  }
  const std::string_view expect = request_.Header("expect");
  if (!expect.empty()) {
    if (!EqualsIgnoreCase(expect, "100-continue")) {
      Reject(417, "the only expectation met is 100-continue");
      return false;
    }
    if (request_.http_minor == 1 && !parser_->is_done() && input_pos_ == input_.size()) WriteContinue();
  }
  if (!parser_->is_done()) SetReadDeadline(shared_->limits.body_timeout);
  return true;
}

bool Connection::CountBody() {
  if (!header_accepted_) return true;
  const size_t size = parser_->get().body().size();
  const size_t grown = size - counted_bytes_;
  counted_bytes_ = size;
  if (shared_->buffered_bytes.fetch_add(grown) + grown <= shared_->limits.max_buffered_bytes) return true;
  Reject(503, "the server holds as many request bodies as it may: try again later");
  return false;
}

void Connection::ReleaseBody() {
  shared_->buffered_bytes -= counted_bytes_;
  counted_bytes_ = 0;
}

void Connection::BeginTransaction(bool keep_alive, bool is_head, int http_minor) {
  HttpTransaction::Facts facts;
  facts.request_id = request_.id.empty() ? MakeRequestId() : request_.id;
  facts.keep_alive = keep_alive;
  facts.is_head = is_head;
  facts.http_minor = http_minor;
  facts.max_outbox_bytes = shared_->limits.max_outbox_bytes;
  current_ = std::make_shared<HttpTransaction>(std::move(facts), inbox_, weak_from_this());
  read_deadline_.reset();
}

void Connection::Dispatch() {
  request_.body = std::move(parser_->get().body());
  BeginTransaction(parser_->keep_alive(), request_.method == "HEAD", request_.http_minor);
  parser_.reset();
  shared_->handler(std::move(request_), Responder(current_));
  request_ = HttpRequest{};
}

void Connection::Reject(int status, std::string_view message) {
  BeginTransaction(false, false, 1);
  parser_.reset();
  HttpResponse response;
  response.status = status;
  if (shared_->format_error) {
    response.body = shared_->format_error(status, message);
  } else {
    response.content_type = "text/plain";
    response.body = fmt::format("{}\n", message);
  }
  if (status == 503) response.headers.push_back({"Retry-After", "1"});
  current_->Send(std::move(response));
  request_ = HttpRequest{};
}

void Connection::WriteContinue() {
  if (writing_) return;
  static constexpr std::string_view kContinue = "HTTP/1.1 100 Continue\r\n\r\n";
  writing_ = true;
  asio::async_write(socket_, asio::buffer(kContinue.data(), kContinue.size()),
                    [self = shared_from_this()](ErrorCode error, size_t) {
                      self->writing_ = false;
                      if (error) return self->Close();
                      self->Flush();
                    });
}

void Connection::Flush() {
  if (closed_ || !current_) return;
  if (current_->cut()) return Close();
  if (writing_) return;
  output_ = current_->Take();
  if (output_.empty()) return;
  chunk_head_.clear();
  chunk_tail_.clear();
  if (output_.chunked) {
    if (!output_.body.empty()) {
      chunk_head_ = fmt::format("{:x}\r\n", output_.body.size());
      chunk_tail_ = "\r\n";
    }
    if (output_.last) chunk_tail_ += "0\r\n\r\n";
  }
  writing_ = true;
  write_deadline_ = Clock::now() + shared_->limits.write_timeout +
                    std::chrono::seconds(output_.body.size() / kSlowestBytesPerSecond);
  ArmTimer();
  const std::array<asio::const_buffer, 4> buffers{asio::buffer(output_.head), asio::buffer(chunk_head_),
                                                  asio::buffer(output_.body), asio::buffer(chunk_tail_)};
  asio::async_write(socket_, buffers,
                    [self = shared_from_this(), last = output_.last, keep_alive = output_.keep_alive](
                        ErrorCode error, size_t) { self->OnWritten(error, last, keep_alive); });
}

void Connection::OnWritten(ErrorCode error, bool last, bool keep_alive) {
  writing_ = false;
  write_deadline_.reset();
  if (closed_) return;
  if (error) return Close();
  current_->Wrote();
  if (last) {
    OnAnswered(keep_alive);
  } else {
    Flush();
  }
}

void Connection::OnAnswered(bool keep_alive) {
  current_.reset();
  ReleaseBody();
  output_ = {};
  if (!keep_alive || inbox_->draining) return Linger();
  SetReadDeadline(input_pos_ < input_.size() ? shared_->limits.header_timeout : shared_->limits.idle_timeout);
  ParseInput();
  if (read_closed_ && (!current_ || !current_->finished())) return Close();
  ReadMore();
}

void Connection::Linger() {
  if (read_closed_) return Close();
  ErrorCode ignored;
  socket_.shutdown(Socket::shutdown_send, ignored);
  lingering_ = true;
  input_.clear();
  input_pos_ = 0;
  SetReadDeadline(kLingerTime);
  ReadMore();
}

void Connection::CloseIfIdle() {
  if (!current_ && !parser_ && !lingering_) Close();
}

void Connection::Close() {
  if (closed_) return;
  closed_ = true;
  const auto self = shared_from_this();
  if (current_) current_->MarkGone();
  ReleaseBody();
  ErrorCode ignored;
  socket_.close(ignored);
  timer_.cancel();
  on_close_(this);
}

void Connection::SetReadDeadline(milliseconds wait) {
  read_deadline_ = Clock::now() + wait;
  ArmTimer();
}

// One timer serves both deadlines and is moved only forwards in time: a deadline that was put off costs
// nothing until the timer fires and finds nothing due.
void Connection::ArmTimer() {
  if (closed_) return;
  std::optional<Clock::time_point> next = read_deadline_;
  if (write_deadline_ && (!next || *write_deadline_ < *next)) next = write_deadline_;
  if (!next || (armed_ && *armed_ <= *next)) return;
  armed_ = next;
  timer_.expires_at(*next);
  timer_.async_wait([self = shared_from_this()](ErrorCode error) {
    if (!error) self->OnTimer();
  });
}

void Connection::OnTimer() {
  if (closed_) return;
  armed_.reset();
  const Clock::time_point now = Clock::now();
  if (write_deadline_ && *write_deadline_ <= now) {
    FB_LOG_DEBUG("http: cut {}: it did not read its answer in time", remote_);
    return Close();
  }
  if (read_deadline_ && *read_deadline_ <= now) {
    read_deadline_.reset();
    OnReadTimeout();
  }
  ArmTimer();
}

void Connection::OnReadTimeout() {
  if (current_) return;
  const bool has_part = parser_ || input_pos_ < input_.size();
  if (lingering_ || !has_part) return Close();
  Reject(408, header_accepted_ ? "the body did not arrive in time" : "the request did not arrive in time");
}

}  // namespace firebrick
