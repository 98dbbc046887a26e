#include "http/server.h"

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>
#include <vector>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <fmt/format.h>

#include "base/log.h"
#include "base/thread_name.h"
#include "http/connection.h"

namespace firebrick {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kAcceptPause{100};
constexpr std::chrono::milliseconds kStopPoll{5};

// One thread with its io_context and the connections that live on it.
struct IoThread {
  asio::io_context context{1};
  asio::executor_work_guard<asio::io_context::executor_type> work = asio::make_work_guard(context);
  std::shared_ptr<IoInbox> inbox;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;  // io thread only
  std::thread thread;

  IoThread() {
    inbox = std::make_shared<IoInbox>([this] { asio::post(context, [this] { DrainInbox(); }); });
  }
  void DrainInbox() {
    for (const auto& transaction : inbox->Take()) {
      if (auto connection = transaction->connection().lock()) connection->Flush();
    }
  }
  void Adopt(tcp::socket socket, HttpShared* shared) {
    auto connection = std::make_shared<Connection>(std::move(socket), shared, inbox,
                                                   [this](Connection* closed) { connections.erase(closed); });
    connections.emplace(connection.get(), connection);
    connection->Start();
  }
  std::vector<std::shared_ptr<Connection>> Snapshot() const {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(connections.size());
    for (const auto& [raw, connection] : connections) all.push_back(connection);
    return all;
  }
};

Result<tcp::endpoint> Resolve(asio::io_context& context, const std::string& host, uint16_t port) {
  ErrorCode error;
  const auto address = asio::ip::make_address(host, error);
  if (!error) return tcp::endpoint(address, port);
  tcp::resolver resolver(context);
  const auto found = resolver.resolve(host, std::to_string(port), error);
  if (error || found.empty()) {
    return InvalidArgument("cannot resolve --host {}: {}: give an address such as 127.0.0.1 or 0.0.0.0", host,
                           error.message());
  }
  return found.begin()->endpoint();
}

}  // namespace

class HttpServer::Impl {
 public:
  Impl(HttpServerOptions options, HttpHandler handler) : options_(std::move(options)) {
    shared_.limits = options_.limits;
    shared_.format_error = options_.format_error;
    shared_.handler = std::move(handler);
    for (int i = 0; i < std::max(1, options_.threads); ++i) threads_.push_back(std::make_unique<IoThread>());
  }

  Status Listen() {
    ASSIGN_OR_RETURN(const tcp::endpoint endpoint,
                     Resolve(threads_[0]->context, options_.host, options_.port));
    acceptor_.emplace(threads_[0]->context);
    accept_pause_.emplace(threads_[0]->context);
    ErrorCode error;
    acceptor_->open(endpoint.protocol(), error);
    if (!error) acceptor_->set_option(tcp::acceptor::reuse_address(true), error);
    if (!error) acceptor_->bind(endpoint, error);
    if (!error) acceptor_->listen(asio::socket_base::max_listen_connections, error);
    if (error) {
      return MakeError(StatusCode::kUnavailable,
                       "cannot listen on {}:{}: {}: choose another --host or --port", options_.host,
                       options_.port, error.message());
    }
    port_ = acceptor_->local_endpoint(error).port();
    return OkStatus();
  }

  void Run() {
    Accept();
    for (auto& io : threads_) {
      io->thread = std::thread([context = &io->context] {
        NameThread("fb-http");
        context->run();
      });
    }
  }

  void Stop(std::chrono::milliseconds grace) {
    const std::lock_guard lock(stop_mutex_);
    if (stopped_) return;
    stopped_ = true;
    asio::post(threads_[0]->context, [this] {
      ErrorCode ignored;
      acceptor_->close(ignored);
      accept_pause_->cancel();
    });
    for (auto& io : threads_) {
      io->inbox->draining = true;
      asio::post(io->context, [io = io.get()] {
        for (const auto& connection : io->Snapshot()) connection->CloseIfIdle();
      });
    }
    const auto deadline = std::chrono::steady_clock::now() + grace;
    while (shared_.num_connections > 0 && std::chrono::steady_clock::now() < deadline) {
      std::this_thread::sleep_for(kStopPoll);
    }
    for (auto& io : threads_) {
      asio::post(io->context, [io = io.get()] {
        for (const auto& connection : io->Snapshot()) connection->Close();
        io->inbox->Close();
        io->work.reset();
      });
    }
    for (auto& io : threads_) {
      if (io->thread.joinable()) io->thread.join();
    }
  }

  uint16_t port() const { return port_; }
  size_t num_connections() const { return shared_.num_connections; }

 private:
  // The acceptor lives on thread 0; connections are dealt out in turn.
  void Accept() {
    IoThread* io = threads_[next_++ % threads_.size()].get();
    acceptor_->async_accept(io->context, [this, io](ErrorCode error, tcp::socket socket) {
      if (error == asio::error::operation_aborted || !acceptor_->is_open()) return;
      if (error) return PauseAccepting(error);
      if (shared_.num_connections >= shared_.limits.max_connections) {
        Refuse(std::move(socket));
      } else {
        // Started on its own thread; moved through a shared pointer because handlers may be copied.
        auto holder = std::make_shared<tcp::socket>(std::move(socket));
        asio::post(io->context, [this, io, holder] { io->Adopt(std::move(*holder), &shared_); });
      }
      Accept();
    });
  }

  // Out of file descriptors, most likely: trying again at once would spin.
  void PauseAccepting(const ErrorCode& error) {
    FB_LOG_WARN("http: accepting a connection failed: {}; trying again in {} ms", error.message(),
                kAcceptPause.count());
    accept_pause_->expires_after(kAcceptPause);
    accept_pause_->async_wait([this](ErrorCode cancelled) {
      if (!cancelled) Accept();
    });
  }

  void Refuse(tcp::socket socket) {
    const std::string body = options_.format_error
                                 ? options_.format_error(503, "the server has as many connections as it may")
                                 : "";
    const std::string answer = fmt::format(
        "HTTP/1.1 503 Service Unavailable\r\nContent-Type: application/json\r\nRetry-After: 1\r\n"
        "Content-Length: {}\r\nConnection: close\r\n\r\n{}",
        body.size(), body);
    ErrorCode ignored;
    socket.non_blocking(true, ignored);
    socket.write_some(asio::buffer(answer), ignored);
    socket.shutdown(tcp::socket::shutdown_send, ignored);
  }

  const HttpServerOptions options_;
  HttpShared shared_;
  std::vector<std::unique_ptr<IoThread>> threads_;
  std::optional<tcp::acceptor> acceptor_;
  std::optional<asio::steady_timer> accept_pause_;
  size_t next_ = 0;
  uint16_t port_ = 0;
  std::mutex stop_mutex_;
  bool stopped_ = false;
};

HttpServer::HttpServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpServer::~HttpServer() { Stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpServerOptions options, HttpHandler handler) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(handler));
  RETURN_IF_ERROR(impl->Listen());
  impl->Run();
  return std::unique_ptr<HttpServer>(new HttpServer(std::move(impl)));
}

uint16_t HttpServer::port() const { return impl_->port(); }
size_t HttpServer::num_connections() const { return impl_->num_connections(); }
void HttpServer::Stop(std::chrono::milliseconds grace) { impl_->Stop(grace); }

}  // namespace firebrick
