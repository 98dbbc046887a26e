#include "cli/bench_start.h"

#include <algorithm>
#include <filesystem>
#include <thread>
#include <vector>

#include "base/json.h"
#include "cli/bench_machine.h"
#include "cli/bench_server.h"
#include "cli/model_path.h"
#include "cli/page_cache.h"
#include "config/parse.h"
#include "device/memory.h"
#include "weights/checkpoint.h"

namespace firebrick {
namespace {

constexpr double kMostCached = 0.01;  // of the file, for a start that counts as cold
constexpr uint64_t kSlackBytes = 150ULL << 20;
constexpr int32_t kLoadStreams = 4;
constexpr int32_t kLoadPrompt = 512;
constexpr int32_t kLoadTokens = 8;

struct ModelFiles {
  std::vector<std::string> paths;
  uint64_t bytes = 0;
};

// The mapping is gone again when this returns: mapped pages would not leave the page cache.
Result<ModelFiles> ListFiles(const std::string& path) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  ModelFiles files;
  for (const MappedFile& file : checkpoint.files()) {
    files.paths.push_back(file.path());
    files.bytes += file.bytes().size();
  }
  return files;
}

struct StartFigures {
  double ready_s = 0;
  double first_token_s = 0;
  double read_s = 0;        // cold: the file once, in the same run
  double cached_share = 0;  // of the file, right before the start
  ResidentMemory at_start;  // after the first token
  ResidentMemory serving;   // the most seen under load
  uint64_t weight_bytes = 0;
  uint64_t kv_bytes = 0;
};

// Runs a few long prompts at once and looks at the memory meanwhile.
Status Load(const ServerProcess& server, ResidentMemory* most) {
  const int32_t length = std::min(kLoadPrompt, server.context_tokens() - kLoadTokens);
  std::vector<Status> results(kLoadStreams);
  std::vector<std::thread> clients;
  std::atomic<int> running{kLoadStreams};
  for (int32_t stream = 0; stream < kLoadStreams; ++stream) {
    clients.emplace_back([&, stream] {
      results[static_cast<size_t>(stream)] = server.Complete(PromptOfIds(stream, length), kLoadTokens);
      --running;
    });
  }
  Status status;
  do {
    const auto memory = server.ReadMemory();
    if (!memory.ok()) {
      status = memory.status();
      break;
    }
    most->now_bytes = std::max(most->now_bytes, memory->now_bytes);
    most->peak_bytes = memory->peak_bytes;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  } while (running > 0);
  for (std::thread& client : clients) client.join();
  for (const Status& result : results) RETURN_IF_ERROR(result);
  return status;
}

class StartBench {
 public:
  StartBench(const BenchStartOptions& options, ModelFiles files)
      : options_(options), files_(std::move(files)) {}

  Result<StartFigures> Measure(bool cold) const {
    StartFigures figures;
    if (cold) {
      ASSIGN_OR_RETURN(figures.read_s, ReadOnce());
    }
    if (!options_.untouched_memory) TouchMemory();
    for (const std::string& path : files_.paths) {
      double share = 0;
      if (cold) {
        ASSIGN_OR_RETURN(share, DropFromPageCache(path));
      } else {
        RETURN_IF_ERROR(TimeReading(path, /*direct=*/false).status());
        ASSIGN_OR_RETURN(share, CachedShare(path));
      }
      figures.cached_share += share / static_cast<double>(files_.paths.size());
    }
    ASSIGN_OR_RETURN(
        const ServerProcess server,
        ServerProcess::Start(options_.model, {"--kv-cache-memory", std::to_string(options_.kv_cache_bytes)}));
    figures.ready_s = server.ready_s();
    RETURN_IF_ERROR(server.Complete("\"Hello\"", 1));
    figures.first_token_s = SecondsSince(server.started());
    ASSIGN_OR_RETURN(figures.at_start, server.ReadMemory());
    RETURN_IF_ERROR(Load(server, &figures.serving));
    ASSIGN_OR_RETURN(figures.weight_bytes, server.LedgerBytes("weights"));
    ASSIGN_OR_RETURN(figures.kv_bytes, server.LedgerBytes("kv_cache"));
    return figures;
  }

 private:
  // The faster of the two ways, so that the comparison is the stricter one.
  Result<double> ReadOnce() const {
    double direct = 0;
    double through_cache = 0;
    for (const std::string& path : files_.paths) {
      RETURN_IF_ERROR(DropFromPageCache(path).status());
      ASSIGN_OR_RETURN(const double first, TimeReading(path, /*direct=*/true));
      ASSIGN_OR_RETURN(const double second, TimeReading(path, /*direct=*/false));
      direct += first;
      through_cache += second;
    }
    return std::min(direct, through_cache);
  }

  // Room for weights, page cache and KV, within what is free.
  void TouchMemory() const {
    const Result<MemoryFacts> memory = ReadMemoryFacts();
    if (!memory.ok()) return;
    const uint64_t wanted = 2 * files_.bytes + options_.kv_cache_bytes + (512ULL << 20);
    TouchFreeMemory(std::min(wanted, memory->available_bytes / 2));
  }

  const BenchStartOptions& options_;
  const ModelFiles files_;
};

double MedianOf(const std::vector<StartFigures>& runs, double StartFigures::*field) {
  std::vector<double> values;
  for (const StartFigures& run : runs) values.push_back(run.*field);
  return Median(std::move(values));
}

// Medians of times, the worst of memory.
StartFigures Combine(const std::vector<StartFigures>& runs) {
  StartFigures all = runs.front();
  all.ready_s = MedianOf(runs, &StartFigures::ready_s);
  all.first_token_s = MedianOf(runs, &StartFigures::first_token_s);
  all.read_s = MedianOf(runs, &StartFigures::read_s);
  for (const StartFigures& run : runs) {
    all.cached_share = std::max(all.cached_share, run.cached_share);
    all.at_start.peak_bytes = std::max(all.at_start.peak_bytes, run.at_start.peak_bytes);
    all.serving.now_bytes = std::max(all.serving.now_bytes, run.serving.now_bytes);
    all.serving.peak_bytes = std::max(all.serving.peak_bytes, run.serving.peak_bytes);
  }
  return all;
}

Json ToJson(const StartFigures& figures, bool cold) {
  Json json = {{"ready_s", figures.ready_s}, {"first_token_s", figures.first_token_s}};
  if (cold) json["read_s"] = figures.read_s;
  json["cached_share"] = figures.cached_share;
  json["start_peak_bytes"] = figures.at_start.peak_bytes;
  json["serving_bytes"] = figures.serving.now_bytes;
  json["serving_peak_bytes"] = figures.serving.peak_bytes;
  return json;
}

void PrintRow(std::string_view name, const StartFigures& figures, std::ostream& out) {
  constexpr double kMiB = 1 << 20;
  out << fmt::format("{:5} {:8.2f} {:14.2f} {:17.0f} {:15.0f} {:14.0f}\n", name, figures.ready_s,
                     figures.first_token_s, static_cast<double>(figures.at_start.peak_bytes) / kMiB,
                     static_cast<double>(figures.serving.now_bytes) / kMiB,
                     static_cast<double>(figures.serving.peak_bytes) / kMiB);
}

void PrintTable(const ModelFiles& files, const StartFigures& cold, const StartFigures& warm,
                std::ostream& out) {
  const uint64_t limit = warm.weight_bytes + warm.kv_bytes + kSlackBytes;
  out << fmt::format("file {}, packed weights {}, KV cache {}: with 150 MiB more that is {} MiB\n",
                     FormatBytes(files.bytes), FormatBytes(warm.weight_bytes), FormatBytes(warm.kv_bytes),
                     limit >> 20);
  out << "start  ready s  first token s  peak then, MiB   serving, MiB      peak, MiB\n";
  PrintRow("cold", cold, out);
  PrintRow("warm", warm, out);
  out << fmt::format("reading the file once: {:.2f} s; 1.2 times that and 0.3 s: {:.2f} s\n", cold.read_s,
                     1.2 * cold.read_s + 0.3);
  if (cold.cached_share > kMostCached) {
    out << fmt::format(
        "not cold: the kernel kept {:.0f}% of the file in the page cache; end the programs that have it "
        "mapped\n",
        100 * cold.cached_share);
  }
}

}  // namespace

Status RunBenchStart(const BenchStartOptions& options, std::ostream& out) {
  BenchStartOptions resolved = options;
  ASSIGN_OR_RETURN(resolved.model.model, ResolveModelPath(options.model.model));
  ASSIGN_OR_RETURN(const ModelFiles files, ListFiles(resolved.model.model));
  const StartBench bench(resolved, files);
  std::vector<StartFigures> cold;
  std::vector<StartFigures> warm;
  for (int32_t i = 0; i < options.repeat; ++i) {
    ASSIGN_OR_RETURN(StartFigures one, bench.Measure(/*cold=*/true));
    cold.push_back(one);
    ASSIGN_OR_RETURN(one, bench.Measure(/*cold=*/false));
    warm.push_back(one);
  }
  const StartFigures cold_all = Combine(cold);
  const StartFigures warm_all = Combine(warm);
  if (options.json) {
    const Json result = {{"model", resolved.model.model},  {"repeat", options.repeat},
                         {"file_bytes", files.bytes},      {"weight_bytes", warm_all.weight_bytes},
                         {"kv_bytes", warm_all.kv_bytes},  {"dropped", cold_all.cached_share <= kMostCached},
                         {"cold", ToJson(cold_all, true)}, {"warm", ToJson(warm_all, false)}};
    out << result.dump() << '\n';
    return OkStatus();
  }
  PrintTable(files, cold_all, warm_all, out);
  return OkStatus();
}

}  // namespace firebrick
