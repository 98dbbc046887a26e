#include "http/server.h"

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "http/loopback_client.h"

namespace firebrick {
namespace {

using std::chrono::milliseconds;

// Waits until `condition` holds.
bool Eventually(const std::function<bool()>& condition, milliseconds wait = milliseconds(5000)) {
  const auto deadline = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < deadline) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(2));
  }
  return condition();
}

// /echo answers method, path and body at once; /hold keeps the responder for the test.
class HttpServerTest : public ::testing::Test {
 protected:
  void Start(const std::function<void(HttpServerOptions*)>& adjust = {}) {
    HttpServerOptions options;
    options.port = 0;
    options.threads = 2;
    options.format_error = [](int status, std::string_view message) {
      return fmt::format("E{} {}", status, message);
    };
    if (adjust) adjust(&options);
    auto started = HttpServer::Start(options, [this](HttpRequest request, Responder responder) {
      Handle(std::move(request), std::move(responder));
    });
    ASSERT_TRUE(started.ok()) << started.status().ToString();
    server_ = std::move(started).value();
  }
  void Handle(HttpRequest request, Responder responder) {
    if (request.path == "/hold") {
      auto held = std::make_shared<Responder>(std::move(responder));
      held->OnDisconnect([this] { ++disconnects_; });
      const std::lock_guard lock(mutex_);
      held_.push_back(std::move(held));
      return;
    }
    if (request.path == "/drop") return;
    HttpResponse response;
    response.content_type = "text/plain";
    response.body = fmt::format("{} {} {} [{}]", request.method, request.path, request.query, request.body);
    responder.Send(std::move(response));
  }
  std::shared_ptr<Responder> Held(size_t index = 0) {
    EXPECT_TRUE(Eventually([&] {
      const std::lock_guard lock(mutex_);
      return held_.size() > index;
    }));
    const std::lock_guard lock(mutex_);
    return held_[index];
  }
  void TearDown() override {
    server_.reset();
    held_.clear();
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<Responder>> held_;
  std::atomic<int> disconnects_{0};
  std::unique_ptr<HttpServer> server_;
};

TEST_F(HttpServerTest, AnswersAndKeepsTheConnection) {
  Start();
  LoopbackClient client(server_->port());
  for (int i = 0; i < 3; ++i) {
    client.Send("GET /echo?a=1 HTTP/1.1\r\nHost: x\r\nX-Request-Id: my-id\r\n\r\n");
    const std::string response = client.ReadResponse();
    EXPECT_EQ(response.find("HTTP/1.1 200 OK\r\n"), 0U) << response;
    EXPECT_NE(response.find("X-Request-Id: my-id\r\n"), std::string::npos);
    EXPECT_NE(response.find("Connection: keep-alive\r\n"), std::string::npos);
    EXPECT_NE(response.find("GET /echo a=1 []"), std::string::npos);
  }
}

TEST_F(HttpServerTest, HostileRequestIdIsReplaced) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /echo HTTP/1.1\r\nHost: x\r\nX-Request-Id: a b\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().find("a b"), std::string::npos);
}

TEST_F(HttpServerTest, RequestSplitAtEveryByte) {
  Start();
  const std::string request = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nhello";
  LoopbackClient client(server_->port());
  for (size_t cut = 1; cut < request.size(); ++cut) {
    client.Send(request.substr(0, cut));
    std::this_thread::sleep_for(milliseconds(1));
    client.Send(request.substr(cut));
    ASSERT_NE(client.ReadResponse().find("POST /echo  [hello]"), std::string::npos) << cut;
  }
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  Start();
  LoopbackClient client(server_->port());
  client.Send(
      "GET /hold HTTP/1.1\r\nHost: x\r\n\r\nGET /second HTTP/1.1\r\nHost: x\r\n\r\n"
      "POST /third HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nab");
  const auto held = Held();
  std::this_thread::sleep_for(milliseconds(20));
  held->Send({.status = 200, .content_type = "text/plain", .body = "first", .headers = {}});
  EXPECT_NE(client.ReadResponse().find("\r\n\r\nfirst"), std::string::npos);
  EXPECT_NE(client.ReadResponse().find("GET /second"), std::string::npos);
  EXPECT_NE(client.ReadResponse().find("POST /third  [ab]"), std::string::npos);
  EXPECT_EQ(disconnects_, 0);
}

TEST_F(HttpServerTest, ChunkedBodyAndTrailersDoNotBecomeHeaders) {
  Start();
  LoopbackClient client(server_->port());
  client.Send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3;ext=1\r\nabc\r\n2\r\nde\r\n0\r\nX-Late: 1\r\n\r\n");
  EXPECT_NE(client.ReadResponse().find("[abcde]"), std::string::npos);
  client.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.ReadResponse().find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, ExpectContinue) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.ReadUntil("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  client.Send("ok");
  EXPECT_NE(client.ReadResponse().find("[ok]"), std::string::npos);
}

TEST_F(HttpServerTest, Http10ClosesAndStreamsWithoutChunks) {
  Start();
  LoopbackClient plain(server_->port());
  plain.Send("GET /echo HTTP/1.0\r\n\r\n");
  EXPECT_NE(plain.ReadToEnd().find("GET /echo"), std::string::npos);
  EXPECT_TRUE(plain.peer_closed());

  LoopbackClient client(server_->port());
  client.Send("GET /hold HTTP/1.0\r\n\r\n");
  const auto held = Held();
  held->StartStream(200, "text/event-stream", {});
  EXPECT_TRUE(held->Write("data: 1\n\n"));
  held->Finish();
  const std::string all = client.ReadToEnd();
  EXPECT_EQ(all.find("Transfer-Encoding"), std::string::npos);
  EXPECT_EQ(all.substr(all.find("\r\n\r\n")), "\r\n\r\ndata: 1\n\n");
}

TEST_F(HttpServerTest, StreamsChunksAndKeepsTheConnection) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto held = Held();
  held->StartStream(200, "text/event-stream", {{"Cache-Control", "no-cache"}});
  EXPECT_NE(client.ReadUntil("\r\n\r\n").find("Transfer-Encoding: chunked"), std::string::npos);
  EXPECT_TRUE(held->Write("hello"));
  EXPECT_EQ(client.ReadUntil("hello\r\n"), "5\r\nhello\r\n");
  EXPECT_TRUE(held->Write("world"));
  held->Finish();
  EXPECT_FALSE(held->Write("late"));
  EXPECT_EQ(client.ReadUntil("0\r\n\r\n"), "5\r\nworld\r\n0\r\n\r\n");
  client.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.ReadResponse().find("200 OK"), std::string::npos);
  EXPECT_EQ(disconnects_, 0);
}

TEST_F(HttpServerTest, HeadHasNoBody) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("HEAD /echo HTTP/1.1\r\nHost: x\r\n\r\nGET /next HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(client.ReadUntil("\r\n\r\n").find("Content-Length: 14"), std::string::npos);
  EXPECT_NE(client.ReadResponse().find("GET /next"), std::string::npos);
}

TEST_F(HttpServerTest, DisconnectIsSeenWhileNothingIsWritten) {
  Start();
  auto client = std::make_unique<LoopbackClient>(server_->port());
  client->Send("POST /hold HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n");
  const auto held = Held();
  client->Close();
  EXPECT_TRUE(Eventually([&] { return disconnects_ == 1; }));
  EXPECT_TRUE(held->client_gone());
  held->StartStream(200, "text/event-stream", {});
  EXPECT_FALSE(held->Write("x"));
  bool called = false;
  held->OnDisconnect([&] { called = true; });
  EXPECT_TRUE(called);
  EXPECT_TRUE(Eventually([&] { return server_->num_connections() == 0; }));
}

TEST_F(HttpServerTest, SlowReaderIsCutAndOthersGoOn) {
  Start([](HttpServerOptions* options) {
    options->limits.max_outbox_bytes = 64U << 10U;
    options->limits.send_buffer_bytes = 8 << 10;
  });
  LoopbackClient slow(server_->port(), 4096);
  slow.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto held = Held();
  held->StartStream(200, "text/event-stream", {});
  const std::string piece(1024, 'x');
  int written = 0;
  while (written < 10'000 && held->Write(piece)) ++written;
  EXPECT_LT(written, 1000);
  EXPECT_TRUE(Eventually([&] { return disconnects_ == 1; }));
  LoopbackClient other(server_->port());
  other.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.ReadResponse().find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, WriteThatMakesNoProgressIsCutByTime) {
  Start([](HttpServerOptions* options) {
    options->limits.write_timeout = milliseconds(100);
    options->limits.send_buffer_bytes = 4 << 10;
  });
  LoopbackClient slow(server_->port(), 2048);
  slow.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto held = Held();
  held->StartStream(200, "text/event-stream", {});
  // Less than 16 KiB, so that the time allowed is the limit alone; more than the two small kernel buffers
  // hold.
  EXPECT_TRUE(held->Write(std::string(16'000, 'x')));
  EXPECT_TRUE(Eventually([&] { return disconnects_ == 1; }, milliseconds(2000)));
  EXPECT_TRUE(held->client_gone());
}

TEST_F(HttpServerTest, DroppedResponderIsA500) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /drop HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_EQ(client.ReadResponse().find("HTTP/1.1 500 "), 0U);
}

TEST_F(HttpServerTest, DroppedStreamIsCutWithoutAnEnd) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  auto held = Held();
  held->StartStream(200, "text/event-stream", {});
  held->Write("abc");
  EXPECT_NE(client.ReadUntil("abc\r\n").find("abc"), std::string::npos);
  held_.clear();
  held.reset();
  EXPECT_EQ(client.ReadToEnd(), "");
  EXPECT_TRUE(client.peer_closed());
}

TEST_F(HttpServerTest, HalfClosedSocketStillGetsWhatIsReady) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /a HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
  client.HalfClose();
  const std::string all = client.ReadToEnd();
  EXPECT_NE(all.find("GET /a"), std::string::npos);
  EXPECT_NE(all.find("GET /b"), std::string::npos);
}

struct Refusal {
  const char* name;
  std::string request;
  int status;
};

class HttpRefusalTest : public HttpServerTest, public ::testing::WithParamInterface<Refusal> {};

TEST_P(HttpRefusalTest, IsRefusedAndClosed) {
  Start([](HttpServerOptions* options) {
    options->limits.max_header_bytes = 4096;
    options->limits.max_body_bytes = 1000;
    options->limits.max_buffered_bytes = 900;
    options->limits.header_timeout = milliseconds(150);
    options->limits.body_timeout = milliseconds(150);
  });
  LoopbackClient client(server_->port());
  client.Send(GetParam().request);
  const std::string all = client.ReadToEnd();
  EXPECT_EQ(all.find(fmt::format("HTTP/1.1 {} ", GetParam().status)), 0U) << all;
  EXPECT_NE(all.find(fmt::format("E{} ", GetParam().status)), std::string::npos) << all;
  EXPECT_TRUE(client.peer_closed());
  LoopbackClient other(server_->port());
  other.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(other.ReadResponse().find("200 OK"), std::string::npos);
  other.Close();
  client.Close();
  EXPECT_TRUE(Eventually([&] { return server_->num_connections() == 0; }));
}

std::string Post(const std::string& headers, const std::string& body = "") {
  return "POST /echo HTTP/1.1\r\nHost: x\r\n" + headers + "\r\n" + body;
}

INSTANTIATE_TEST_SUITE_P(
    All, HttpRefusalTest,
    ::testing::Values(
        Refusal{"Garbage", "\x16\x03\x01\x02 nonsense\r\n\r\n", 400},
        Refusal{"NoHost", "GET / HTTP/1.1\r\n\r\n", 400},
        Refusal{"TwoHosts", "GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", 400},
        Refusal{"BadTarget", "GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Refusal{"BadEscape", "GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n", 400},
        Refusal{"Http2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505},
        Refusal{"SpaceBeforeColon", "GET / HTTP/1.1\r\nHost : a\r\n\r\n", 400},
        Refusal{"NoLength", Post(""), 411}, Refusal{"BadLength", Post("Content-Length: -1\r\n"), 400},
        Refusal{"TwoLengths", Post("Content-Length: 1\r\nContent-Length: 2\r\n", "ab"), 400},
        Refusal{"LengthAndChunked", Post("Content-Length: 1\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"),
                400},
        Refusal{"OtherCoding", Post("Transfer-Encoding: gzip, chunked\r\n", "0\r\n\r\n"), 501},
        Refusal{"BadChunk", Post("Transfer-Encoding: chunked\r\n", "zz\r\n"), 400},
        Refusal{"EndlessChunkLine", Post("Transfer-Encoding: chunked\r\n", "1;" + std::string(20000, 'x')),
                400},
        Refusal{"DeclaredTooLarge", Post("Content-Length: 100000000\r\n"), 413},
        Refusal{"ChunkedTooLarge", Post("Transfer-Encoding: chunked\r\n", "500\r\n" + std::string(1280, 'x')),
                413},
        Refusal{"TooMuchHeld", Post("Content-Length: 950\r\n", std::string(950, 'x')), 503},
        Refusal{"Compressed", Post("Content-Length: 3\r\nContent-Encoding: gzip\r\n", "abc"), 415},
        Refusal{"OtherExpectation", Post("Content-Length: 3\r\nExpect: tea\r\n", "abc"), 417},
        Refusal{"HugeHeader", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(8000, 'x') + "\r\n\r\n", 431},
        Refusal{"ManySmallHeaders",
                [] {
                  std::string request = "GET / HTTP/1.1\r\nHost: a\r\n";
                  for (int i = 0; i < 2000; ++i) request += "A: 1\r\n";
                  return request + "\r\n";
                }(),
                431},
        Refusal{"EndlessHeader", "GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(8000, 'x'), 431},
        Refusal{"SlowHeader", "GET / HTTP/1.1\r\nHost: a\r\n", 408},
        Refusal{"SlowBody", Post("Content-Length: 10\r\n", "abc"), 408}),
    [](const auto& info) { return std::string(info.param.name); });

TEST_F(HttpServerTest, SilentAndIdleConnectionsAreClosedWithoutAWord) {
  Start([](HttpServerOptions* options) {
    options->limits.header_timeout = milliseconds(100);
    options->limits.idle_timeout = milliseconds(100);
  });
  LoopbackClient silent(server_->port());
  EXPECT_EQ(silent.ReadToEnd(), "");
  EXPECT_TRUE(silent.peer_closed());
  LoopbackClient idle(server_->port());
  idle.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  idle.ReadResponse();
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(idle.peer_closed());
}

TEST_F(HttpServerTest, TooManyConnectionsGet503) {
  Start([](HttpServerOptions* options) { options->limits.max_connections = 2; });
  LoopbackClient first(server_->port());
  LoopbackClient second(server_->port());
  ASSERT_TRUE(Eventually([&] { return server_->num_connections() == 2; }));
  LoopbackClient third(server_->port());
  EXPECT_EQ(third.ReadToEnd().find("HTTP/1.1 503 "), 0U);
  first.Close();
  ASSERT_TRUE(Eventually([&] { return server_->num_connections() == 1; }));
  LoopbackClient fourth(server_->port());
  fourth.Send("GET /echo HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(fourth.ReadResponse().find("200 OK"), std::string::npos);
}

TEST_F(HttpServerTest, StopLetsARunningAnswerFinishAndClosesIdleOnes) {
  Start();
  LoopbackClient idle(server_->port());
  LoopbackClient busy(server_->port());
  busy.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto held = Held();
  std::thread stopper([&] { server_->Stop(milliseconds(5000)); });
  EXPECT_EQ(idle.ReadToEnd(), "");
  EXPECT_TRUE(idle.peer_closed());
  held->Send({.status = 200, .content_type = "text/plain", .body = "done", .headers = {}});
  const std::string response = busy.ReadToEnd();
  EXPECT_NE(response.find("\r\n\r\ndone"), std::string::npos);
  EXPECT_NE(response.find("Connection: close"), std::string::npos);
  busy.Close();
  stopper.join();
  EXPECT_EQ(disconnects_, 0);
  EXPECT_FALSE(LoopbackClient(server_->port()).connected());
}

TEST_F(HttpServerTest, StopCutsWhatOutlivesTheGrace) {
  Start();
  LoopbackClient client(server_->port());
  client.Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
  const auto held = Held();
  server_->Stop(milliseconds(50));
  EXPECT_EQ(disconnects_, 1);
  server_.reset();
  EXPECT_FALSE(held->Write("after the server"));
}

TEST_F(HttpServerTest, PortInUseIsAnError) {
  Start();
  HttpServerOptions options;
  options.port = server_->port();
  const auto second = HttpServer::Start(options, [](const HttpRequest&, const Responder&) {});
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.status().message().find("choose another"), std::string::npos);
}

TEST_F(HttpServerTest, ManyStreamsFromManyThreads) {
  Start();
  constexpr int kStreams = 32;
  constexpr int kWrites = 200;
  std::vector<std::unique_ptr<LoopbackClient>> clients;
  for (int i = 0; i < kStreams; ++i) {
    clients.push_back(std::make_unique<LoopbackClient>(server_->port()));
    clients.back()->Send("GET /hold HTTP/1.1\r\nHost: x\r\n\r\n");
    Held(static_cast<size_t>(i));
  }
  std::vector<std::thread> writers;
  for (int t = 0; t < 2; ++t) {
    writers.emplace_back([&, t] {
      for (int i = t; i < kStreams; i += 2) held_[static_cast<size_t>(i)]->StartStream(200, "text/plain", {});
      for (int w = 0; w < kWrites; ++w) {
        for (int i = t; i < kStreams; i += 2) held_[static_cast<size_t>(i)]->Write(fmt::format("<{}>", w));
      }
      for (int i = t; i < kStreams; i += 2) held_[static_cast<size_t>(i)]->Finish();
    });
  }
  for (auto& writer : writers) writer.join();
  for (auto& client : clients) {
    const std::string head = client->ReadUntil("\r\n\r\n");
    std::string chunked = client->ReadUntil("\r\n0\r\n\r\n");
    std::string body;
    size_t at = 0;
    while (at < chunked.size()) {
      const size_t line = chunked.find("\r\n", at);
      const size_t size = std::stoul(chunked.substr(at, line - at), nullptr, 16);
      body += chunked.substr(line + 2, size);
      at = line + 2 + size + 2;
    }
    std::string expected;
    for (int w = 0; w < kWrites; ++w) expected += fmt::format("<{}>", w);
    ASSERT_EQ(body, expected);
  }
}

}  // namespace
}  // namespace firebrick
