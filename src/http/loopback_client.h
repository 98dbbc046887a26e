// A blocking raw socket for tests and benches: what a client sends and gets, byte for byte.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

namespace firebrick {

class LoopbackClient {
 public:
  explicit LoopbackClient(uint16_t port, int receive_buffer_bytes = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM, 0)) {
    if (receive_buffer_bytes > 0) {
      ::setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
    }
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0;
  }
  ~LoopbackClient() { Close(); }
  LoopbackClient(const LoopbackClient&) = delete;
  LoopbackClient& operator=(const LoopbackClient&) = delete;

  bool connected() const { return connected_; }
  // False where the peer has gone.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
    return true;
  }
  // Reads until `mark` has been seen, the peer closes, or the time is up; returns all bytes not returned
  // before, through the mark.
  std::string ReadUntil(std::string_view mark,
                        std::chrono::milliseconds wait = std::chrono::milliseconds(5000)) {
    const auto deadline = std::chrono::steady_clock::now() + wait;
    while (true) {
      const size_t at = mark.empty() ? std::string::npos : buffer_.find(mark);
      if (at != std::string::npos) {
        std::string result = buffer_.substr(0, at + mark.size());
        buffer_.erase(0, at + mark.size());
        return result;
      }
      if (!Fill(deadline)) return std::exchange(buffer_, {});
    }
  }
  std::string ReadToEnd(std::chrono::milliseconds wait = std::chrono::milliseconds(5000)) {
    return ReadUntil("", wait);
  }
  // Head and a body of Content-Length.
  std::string ReadResponse() {
    std::string head = ReadUntil("\r\n\r\n");
    const size_t at = head.find("Content-Length: ");
    if (at == std::string::npos) return head;
    const size_t size = std::stoul(head.substr(at + 16));
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(5);
    while (buffer_.size() < size && Fill(deadline)) {
    }
    head += buffer_.substr(0, size);
    buffer_.erase(0, size);
    return head;
  }
  bool peer_closed() const { return closed_; }
  void HalfClose() { ::shutdown(fd_, SHUT_WR); }
  void Close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  bool Fill(std::chrono::steady_clock::time_point deadline) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd entry{fd_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&entry, 1, static_cast<int>(left.count())) <= 0) return false;
    char bytes[65536];
    const ssize_t got = ::recv(fd_, bytes, sizeof bytes, 0);
    if (got <= 0) {
      closed_ = true;
      return false;
    }
    buffer_.append(bytes, static_cast<size_t>(got));
    return true;
  }

  int fd_ = -1;
  bool connected_ = false;
  bool closed_ = false;
  std::string buffer_;
};

}  // namespace firebrick
