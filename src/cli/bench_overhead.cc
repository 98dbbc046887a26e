#include "cli/bench_overhead.h"

#include <thread>
#include <vector>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_server.h"
#include "cli/model_path.h"

namespace firebrick {
namespace {

ThreadSeconds Difference(ThreadSeconds after, const ThreadSeconds& before) {
  for (auto& [name, seconds] : after) {
    const auto found = before.find(name);
    if (found != before.end()) seconds -= found->second;
  }
  return after;
}

double Total(const ThreadSeconds& threads) {
  double total = 0;
  for (const auto& [name, seconds] : threads) total += seconds;
  return total;
}

double Computing(const ThreadSeconds& threads) {
  double total = 0;
  for (const auto& [name, seconds] : threads) {
    if (name == "fb-worker" || name == "fb-executor") total += seconds;
  }
  return total;
}

Status RunStreams(const ServerProcess& server, const BenchOverheadOptions& options) {
  std::vector<Status> results(static_cast<size_t>(options.streams));
  std::vector<std::thread> clients;
  for (int32_t stream = 0; stream < options.streams; ++stream) {
    clients.emplace_back([&, stream] {
      results[static_cast<size_t>(stream)] =
          server.Complete(PromptOfIds(stream, options.prompt), options.gen, /*stream=*/true);
    });
  }
  for (std::thread& client : clients) client.join();
  for (const Status& result : results) RETURN_IF_ERROR(result);
  return OkStatus();
}

}  // namespace

Status RunBenchOverhead(const BenchOverheadOptions& options, std::ostream& out) {
  ModelOptions model = options.model;
  ASSIGN_OR_RETURN(model.model, ResolveModelPath(options.model.model));
  ASSIGN_OR_RETURN(const ServerProcess server,
                   ServerProcess::Start(model, {"--kv-cache-memory", std::to_string(1ULL << 30)}));
  RETURN_IF_ERROR(server.Complete("\"Hello\"", 1));
  ASSIGN_OR_RETURN(const ThreadSeconds begin, server.ReadThreads());
  std::this_thread::sleep_for(std::chrono::seconds(options.idle_seconds));
  ASSIGN_OR_RETURN(const ThreadSeconds rested, server.ReadThreads());
  RETURN_IF_ERROR(RunStreams(server, options));
  ASSIGN_OR_RETURN(const ThreadSeconds end, server.ReadThreads());

  const double idle_share = Total(Difference(rested, begin)) / options.idle_seconds;
  const ThreadSeconds busy = Difference(end, rested);
  const double total = Total(busy);
  const double overhead_share = total > 0 ? 1 - Computing(busy) / total : 0;
  if (options.json) {
    const Json result = {{"model", model.model},     {"idle_seconds", options.idle_seconds},
                         {"idle_share", idle_share}, {"streams", options.streams},
                         {"cpu_s", total},           {"overhead_share", overhead_share},
                         {"threads", busy}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  out << fmt::format("idle for {} s: {:.3f}% of a core\n", options.idle_seconds, 100 * idle_share);
  out << fmt::format("{} streams of {} tokens: {:.2f} s of CPU time, {:.2f}% of it beside the arithmetic\n",
                     options.streams, options.gen, total, 100 * overhead_share);
  for (const auto& [name, seconds] : busy) {
    out << fmt::format("  {:16} {:8.2f} s {:6.2f}%\n", name, seconds, 100 * seconds / std::max(total, 1e-9));
  }
  return OkStatus();
}

}  // namespace firebrick
