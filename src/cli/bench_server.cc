#include "cli/bench_server.h"

#include <charconv>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <sstream>

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/bench_machine.h"
#include "http/loopback_client.h"

namespace firebrick {
namespace {

constexpr std::chrono::seconds kLongestStart{300};
constexpr std::chrono::seconds kLongestAnswer{300};
constexpr uint64_t kMaxProcBytes = 1 << 20;

Status StartError(std::string_view what) {
  return MakeError(StatusCode::kUnavailable, "cannot start this binary as a server: {}: {}", what,
                   std::strerror(errno));
}

}  // namespace

Result<ServerProcess> ServerProcess::Start(const ModelOptions& model, const std::vector<std::string>& flags) {
  std::vector<std::string> words{"firebrick",
                                 "serve",
                                 model.model,
                                 "--port",
                                 "0",
                                 "--isa",
                                 model.isa.value,
                                 "--log-level",
                                 "error",
                                 "--kv-cache-dtype",
                                 model.kv_cache_dtype.value};
  if (model.threads.value > 0) {
    words.insert(words.end(), {"--threads", std::to_string(model.threads.value)});
  }
  if (!model.time_kernels.value) words.emplace_back("--no-kernel-timing");
  words.insert(words.end(), flags.begin(), flags.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  int pipe_ends[2];
  if (::pipe2(pipe_ends, O_CLOEXEC) != 0) return StartError("pipe");
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], STDOUT_FILENO);
  ServerProcess server;
  server.output_ = pipe_ends[0];
  server.started_ = std::chrono::steady_clock::now();
  const int error = ::posix_spawn(&server.pid_, "/proc/self/exe", &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  ::close(pipe_ends[1]);
  if (error != 0) {
    server.pid_ = -1;
    errno = error;
    return StartError("posix_spawn of /proc/self/exe");
  }
  RETURN_IF_ERROR(server.AwaitReady());
  return server;
}

// The line "http://127.0.0.1:PORT/v1 ..." is the first one on standard output.
Status ServerProcess::AwaitReady() {
  std::string line;
  const auto deadline = started_ + kLongestStart;
  while (line.find('\n') == std::string::npos) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    pollfd entry{output_, POLLIN, 0};
    char bytes[4096];
    const bool readable = left.count() > 0 && ::poll(&entry, 1, static_cast<int>(left.count())) > 0;
    const ssize_t got = readable ? ::read(output_, bytes, sizeof bytes) : 0;
    if (got <= 0) {
      return MakeError(StatusCode::kUnavailable,
                       "the server ended or was not ready within {} s; its own message is above",
                       kLongestStart.count());
    }
    line.append(bytes, static_cast<size_t>(got));
  }
  ready_s_ = SecondsSince(started_);
  const size_t slashes = line.find("//");
  const size_t colon = slashes == std::string::npos ? slashes : line.find(':', slashes);
  if (colon == std::string::npos ||
      std::from_chars(line.data() + colon + 1, line.data() + line.size(), port_).ec != std::errc()) {
    return MakeError(StatusCode::kInternal, "the server's first line names no port: {}", line);
  }
  constexpr std::string_view kContext = "context ";
  if (const size_t at = line.find(kContext); at != std::string::npos) {
    std::from_chars(line.data() + at + kContext.size(), line.data() + line.size(), context_tokens_);
  }
  return OkStatus();
}

ServerProcess::ServerProcess(ServerProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      output_(std::exchange(other.output_, -1)),
      port_(other.port_),
      context_tokens_(other.context_tokens_),
      started_(other.started_),
      ready_s_(other.ready_s_) {}

ServerProcess::~ServerProcess() {
  if (output_ >= 0) ::close(output_);
  if (pid_ <= 0) return;
  ::kill(pid_, SIGTERM);
  ::waitpid(pid_, nullptr, 0);
}

Result<std::string> ServerProcess::Exchange(const std::string& method, const std::string& path,
                                            const std::string& body) const {
  LoopbackClient client(port_);
  const bool sent = client.connected() &&
                    client.Send(fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                            "Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{}",
                                            method, path, body.size(), body));
  std::string answer = sent ? client.ReadToEnd(kLongestAnswer) : std::string();
  if (answer.starts_with("HTTP/1.1 200")) return answer;
  return MakeError(StatusCode::kUnavailable, "the server answered {} {} with: {}", method, path,
                   answer.empty() ? "nothing" : answer.substr(0, 500));
}

Status ServerProcess::Complete(const std::string& prompt, int32_t num_tokens, bool stream) const {
  const std::string body = fmt::format(
      R"({{"prompt":{},"max_tokens":{},"min_tokens":{},"ignore_eos":true,"temperature":0,"stream":{}}})",
      prompt, num_tokens, num_tokens, stream);
  return Exchange("POST", "/v1/completions", body).status();
}

Result<ResidentMemory> ServerProcess::ReadMemory() const {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(fmt::format("/proc/{}/status", pid_), kMaxProcBytes));
  return ParseProcStatus(text);
}

Result<ThreadSeconds> ServerProcess::ReadThreads() const {
  const auto ticks_per_s = static_cast<double>(::sysconf(_SC_CLK_TCK));
  ThreadSeconds threads;
  std::error_code error;
  const std::string folder = fmt::format("/proc/{}/task", pid_);
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const Result<std::string> line = ReadFile(it->path().string() + "/stat", kMaxProcBytes);
    if (!line.ok()) continue;  // the thread has ended
    if (const auto parsed = ParseTaskStat(*line, ticks_per_s)) threads[parsed->first] += parsed->second;
  }
  if (threads.empty()) return MakeError(StatusCode::kUnavailable, "{} lists no threads", folder);
  return threads;
}

Result<uint64_t> ServerProcess::LedgerBytes(const std::string& account) const {
  ASSIGN_OR_RETURN(const std::string text, Exchange("GET", "/metrics", ""));
  std::istringstream lines(text);
  const std::string label = fmt::format("account=\"{}\"", account);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("firebrick:memory_bytes") || line.find(label) == std::string::npos) continue;
    return static_cast<uint64_t>(std::strtod(line.c_str() + line.rfind(' '), nullptr));
  }
  return MakeError(StatusCode::kInternal, "/metrics has no firebrick:memory_bytes of account {}", account);
}

std::string PromptOfIds(int32_t stream, int32_t num_tokens) {
  std::string ids = "[";
  for (int32_t i = 0; i < num_tokens; ++i) {
    ids += fmt::format("{}{}", i > 0 ? "," : "", 10 + (stream * 7 + i) % 64);
  }
  return ids + "]";
}

Result<ResidentMemory> ParseProcStatus(const std::string& text) {
  const auto bytes_of = [&text](std::string_view field) -> std::optional<uint64_t> {
    const size_t at = text.find(field);
    if (at == std::string::npos) return std::nullopt;
    const size_t digits = text.find_first_of("0123456789", at);
    uint64_t kib = 0;
    if (digits == std::string::npos ||
        std::from_chars(text.data() + digits, text.data() + text.size(), kib).ec != std::errc())
      return std::nullopt;
    return kib * 1024;
  };
  const auto now = bytes_of("VmRSS:");
  const auto peak = bytes_of("VmHWM:");
  if (!now || !peak)
    return Status(StatusCode::kUnavailable, "the server has ended: its status shows no memory");
  return ResidentMemory{*now, *peak};
}

std::optional<std::pair<std::string, double>> ParseTaskStat(const std::string& line, double ticks_per_s) {
  const size_t open = line.find('(');
  const size_t close = line.rfind(')');
  if (open == std::string::npos || close == std::string::npos || close < open) return std::nullopt;
  // After the name: state, then ten numbers, then user and system ticks.
  std::istringstream fields(line.substr(close + 1));
  std::string skipped;
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0;
  double system = 0;
  if (!(fields >> user >> system)) return std::nullopt;
  return std::pair{line.substr(open + 1, close - open - 1), (user + system) / ticks_per_s};
}

}  // namespace firebrick
