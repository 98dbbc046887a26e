// One client connection: reads requests, hands them out one at a time (pipelined ones in order), writes
// answers. Private to the room; only connection.cc and server.cc include it, because it brings Boost. Thread:
// its own io thread, except for the constructor.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "http/server.h"
#include "http/transaction.h"

namespace firebrick {

// What every connection of a server shares. Const but for the counters.
struct HttpShared {
  HttpLimits limits;
  std::function<std::string(int, std::string_view)> format_error;
  HttpHandler handler;
  std::atomic<size_t> num_connections{0};
  std::atomic<size_t> buffered_bytes{0};  // request bodies held by connections
};

class Connection : public std::enable_shared_from_this<Connection> {
 public:
  using Clock = std::chrono::steady_clock;
  using Socket = boost::asio::ip::tcp::socket;

  Connection(Socket socket, HttpShared* shared, std::shared_ptr<IoInbox> inbox,
             std::function<void(Connection*)> on_close);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  void Start();
  // Writes what the current transaction has ready. Called where the inbox names it.
  void Flush();
  // Closes now if no request is being read or answered.
  void CloseIfIdle();
  void Close();

 private:
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using ErrorCode = boost::system::error_code;

  void ReadMore();
  void OnRead(ErrorCode error, size_t size);
  void OnReadEnd(bool orderly);
  void ParseInput();
  bool ParseStep();  // false: nothing more can be done with the input at hand
  bool AcceptHeader();
  bool AcceptFraming();
  bool CountBody();
  void ReleaseBody();
  void Dispatch();
  void Reject(int status, std::string_view message);
  void BeginTransaction(bool keep_alive, bool is_head, int http_minor);
  void WriteContinue();
  void OnWritten(ErrorCode error, bool last, bool keep_alive);
  void OnAnswered(bool keep_alive);
  void Linger();
  void SetReadDeadline(std::chrono::milliseconds wait);
  void ArmTimer();
  void OnTimer();
  void OnReadTimeout();

  Socket socket_;
  boost::asio::steady_timer timer_;
  HttpShared* const shared_;
  const std::shared_ptr<IoInbox> inbox_;
  const std::function<void(Connection*)> on_close_;
  std::string remote_;

  std::array<char, 16384> chunk_;
  std::string input_;  // received and not yet parsed, from input_pos_
  size_t input_pos_ = 0;
  std::optional<Parser> parser_;  // of the request being read
  HttpRequest request_;           // its head, from AcceptHeader on
  size_t counted_bytes_ = 0;      // of the body, within shared_->buffered_bytes
  std::shared_ptr<HttpTransaction> current_;

  HttpTransaction::Output output_;  // being written
  std::string chunk_head_;
  std::string chunk_tail_;

  std::optional<Clock::time_point> read_deadline_;
  std::optional<Clock::time_point> write_deadline_;
  std::optional<Clock::time_point> armed_;
  size_t lingered_bytes_ = 0;
  bool header_accepted_ = false;
  size_t header_bytes_ = 0;  // of the request being read, so far
  bool reading_ = false;
  bool writing_ = false;
  bool read_closed_ = false;
  bool lingering_ = false;
  bool closed_ = false;
};

}  // namespace firebrick
