// The serving part of `firebrick serve`: flags of the HTTP side, the line that says what is served, and the
// life from there to a signal. Thread: the main thread.
#pragma once

#include <chrono>
#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/flags.h"

namespace firebrick {

class ApiServer;
class Engine;

struct ServeOptions {
  std::string host = "127.0.0.1";
  int32_t port = 8000;
  std::vector<std::string> served_model_names;  // empty: the model's own
  std::string chat_template_path;               // empty: the model's own
  int32_t shutdown_timeout_s = 30;              // for running requests after the first signal
  int32_t max_connections = 1024;
  int32_t http_threads = 2;
};

// --host, --port, --served-model-name, --chat-template, --shutdown-timeout, --max-connections.
void AddServeFlags(ServeOptions* options, FlagSet* flags);

// SIGINT and SIGTERM as something to wait for. Made before any other thread, because threads inherit the
// mask.
class ShutdownSignals {
 public:
  ShutdownSignals();
  ~ShutdownSignals();  // puts the former mask back
  ShutdownSignals(const ShutdownSignals&) = delete;
  ShutdownSignals& operator=(const ShutdownSignals&) = delete;

  void Wait();
  // False: the time is up and no signal came.
  bool WaitFor(std::chrono::milliseconds wait);

 private:
  sigset_t signals_;
  sigset_t former_;
};

// "http://127.0.0.1:8000/v1  model NAME  context 8192 tokens  KV cache 65536 tokens"
struct ServingFacts {
  std::string host;
  uint16_t port = 0;
  std::string model;
  int32_t max_model_len = 0;
  int64_t kv_tokens = 0;
};
std::string ReadyLine(const ServingFacts& facts);

// Prints the line to standard output and serves until a signal. The first signal: new generation gets 503,
// what runs may finish for `shutdown_timeout`. A second signal, or the end of that time: what runs is cut.
// Returns once the server is stopped.
void ServeUntilSignal(const ServingFacts& facts, std::chrono::seconds shutdown_timeout,
                      ShutdownSignals* signals, ApiServer* server, Engine* engine);

}  // namespace firebrick
