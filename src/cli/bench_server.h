// A `firebrick serve` of this binary as a process of its own, for measurements of what a user gets: start,
// memory, CPU time. Thread: Complete may run on several threads at once, the rest on one.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

// Resident memory of a process, as /proc/PID/status says.
struct ResidentMemory {
  uint64_t now_bytes = 0;   // VmRSS
  uint64_t peak_bytes = 0;  // VmHWM
};

// CPU seconds of the threads of a process by their names, as /proc/PID/task/*/stat says. Ticks of 10 ms.
using ThreadSeconds = std::map<std::string, double>;

class ServerProcess {
 public:
  // Starts `serve` on a free port and returns once it has said that it is ready. What the server writes to
  // standard error goes to ours at level `error`.
  static Result<ServerProcess> Start(const ModelOptions& model, const std::vector<std::string>& flags);
  ServerProcess(ServerProcess&& other) noexcept;
  ServerProcess& operator=(ServerProcess&&) = delete;
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;
  ~ServerProcess();  // ends the process

  std::chrono::steady_clock::time_point started() const { return started_; }
  double ready_s() const { return ready_s_; }  // from the start of the process to the line that says so

  int32_t context_tokens() const { return context_tokens_; }  // longest prompt and answer together

  // A greedy completion of `prompt` (a JSON value: text or ids) by exactly num_tokens tokens; waits for all.
  Status Complete(const std::string& prompt, int32_t num_tokens, bool stream = false) const;
  Result<ResidentMemory> ReadMemory() const;
  Result<ThreadSeconds> ReadThreads() const;
  // Bytes that the server's ledger holds under an account ("weights", "kv_cache").
  Result<uint64_t> LedgerBytes(const std::string& account) const;

 private:
  ServerProcess() = default;
  Status AwaitReady();
  Result<std::string> Exchange(const std::string& method, const std::string& path,
                               const std::string& body) const;

  pid_t pid_ = -1;
  int output_ = -1;  // its standard output
  uint16_t port_ = 0;
  int32_t context_tokens_ = 0;
  std::chrono::steady_clock::time_point started_;
  double ready_s_ = 0;
};

// "[10,11,...]": a prompt as token ids that every vocabulary has; different streams begin differently.
std::string PromptOfIds(int32_t stream, int32_t num_tokens);
// Pure: the fields of text as the kernel writes it.
Result<ResidentMemory> ParseProcStatus(const std::string& text);
// Name and CPU seconds from a line of /proc/PID/task/TID/stat; names may hold spaces and brackets.
std::optional<std::pair<std::string, double>> ParseTaskStat(const std::string& line, double ticks_per_s);

}  // namespace firebrick
