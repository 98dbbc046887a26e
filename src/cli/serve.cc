#include "cli/serve.h"

#include <cerrno>
#include <cstdio>
#include <ctime>

#include <fmt/format.h>

#include "base/log.h"
#include "engine/engine.h"
#include "server/api_server.h"

namespace firebrick {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDrainPoll{50};
constexpr milliseconds kLastWords{2000};  // for answers that are made and not yet written

}  // namespace

void AddServeFlags(ServeOptions* options, FlagSet* flags) {
  flags->Text("--host", "ADDRESS", "Address to listen on; 0.0.0.0 for all", &options->host);
  flags->Integer("--port", "N", "Port to listen on; 0: any that is free", &options->port, 0, 65535);
  flags->TextList("--served-model-name", "NAME", "Name in the API, several times for aliases",
                  &options->served_model_names);
  flags->Text("--chat-template", "FILE", "Jinja file in place of the model's own template",
              &options->chat_template_path);
  flags->Integer("--shutdown-timeout", "S", "Seconds for running requests after SIGTERM",
                 &options->shutdown_timeout_s, 0, 86'400);
  flags->Integer("--max-connections", "N", "Open connections; more get 503", &options->max_connections, 1,
                 65'536);
}

ShutdownSignals::ShutdownSignals() {
  sigemptyset(&signals_);
  sigaddset(&signals_, SIGINT);
  sigaddset(&signals_, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &signals_, &former_);
}

ShutdownSignals::~ShutdownSignals() { pthread_sigmask(SIG_SETMASK, &former_, nullptr); }

void ShutdownSignals::Wait() {
  int signal = 0;
  sigwait(&signals_, &signal);
}

bool ShutdownSignals::WaitFor(milliseconds wait) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(wait);
  const timespec limit{.tv_sec = seconds.count(),
                       .tv_nsec = std::chrono::nanoseconds(wait - seconds).count()};
  return sigtimedwait(&signals_, nullptr, &limit) > 0;
}

std::string ReadyLine(const ServingFacts& facts) {
  const bool is_ipv6 = facts.host.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/v1  model {}  context {} tokens  KV cache {} tokens",
                     is_ipv6 ? fmt::format("[{}]", facts.host) : facts.host, facts.port, facts.model,
                     facts.max_model_len, facts.kv_tokens);
}

void ServeUntilSignal(const ServingFacts& facts, std::chrono::seconds shutdown_timeout,
                      ShutdownSignals* signals, ApiServer* server, Engine* engine) {
  std::printf("%s\n", ReadyLine(facts).c_str());
  std::fflush(stdout);
  signals->Wait();
  FB_LOG_INFO("shutting down: running requests may take {} s more; a second signal ends them at once",
              shutdown_timeout.count());
  server->BeginDrain();
  const auto deadline = std::chrono::steady_clock::now() + shutdown_timeout;
  bool forced = false;
  bool done = false;
  while (!done && !forced && std::chrono::steady_clock::now() < deadline) {
    done = engine->Drain(std::chrono::steady_clock::now() + kDrainPoll);
    forced = signals->WaitFor(milliseconds(0));
  }
  if (!done) FB_LOG_WARN("shutting down: cutting the requests that still run");
  // Whoever signals once more asks for what is being done: taking the process down in the middle helps
  // nobody.
  std::signal(SIGINT, SIG_IGN);
  std::signal(SIGTERM, SIG_IGN);
  server->Stop(done ? kLastWords : milliseconds(0));
}

}  // namespace firebrick
