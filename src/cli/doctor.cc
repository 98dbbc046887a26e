// firebrick doctor: what this machine offers, what a server here could use, and what is missing.
#include <cstdio>
#include <filesystem>
#include <memory>

#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "base/env.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "config/parse.h"
#include "device/memory.h"
#include "device/topology.h"
#include "exec/ops_choice.h"
#include "kernels/isa.h"

namespace firebrick {
namespace {

// Free bytes of the file system that holds the nearest existing folder above `path`.
uint64_t FreeDiskBytes(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = path;
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return 0;
  return static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
}

// One fact: `shown` for people, `value` for programs, and what to do where it is not as it should be.
struct Finding {
  std::string name;
  std::string shown;
  Json value;
  std::string remedy;
};

void AddProcessor(std::vector<Finding>* findings) {
  const Topology topology = ReadTopology();
  findings->push_back({"cpu", topology.cpu_name, topology.cpu_name, ""});
  findings->push_back({"cpus",
                       fmt::format("{} usable, {} cores, {} NUMA nodes", topology.cpus.size(),
                                   topology.num_cores, topology.num_nodes),
                       topology.cpus.size(), ""});
  if (topology.quota_cpus.has_value()) {
    findings->push_back(
        {"cgroup_cpus", fmt::format("{:.2f}", *topology.quota_cpus), *topology.quota_cpus, ""});
  }
  findings->push_back({"threads",
                       fmt::format("{}{}", topology.default_threads,
                                   topology.pinning.empty() ? ", not pinned" : ", one pinned to each core"),
                       topology.default_threads, ""});
  Json levels = Json::array();
  std::string shown;
  for (const IsaLevel level : {IsaLevel::kRef, IsaLevel::kAvx2, IsaLevel::kAvx512, IsaLevel::kAmx}) {
    const bool has = CpuHas(level);
    if (has) levels.push_back(NameOf(level));
    shown += fmt::format("{}{} {}", shown.empty() ? "" : ", ", NameOf(level), has ? "yes" : "no");
  }
  findings->push_back({"isa", shown, levels,
                       CpuHas(IsaLevel::kAvx2) ? "" : "Firebrick needs AVX2, FMA and F16C (x86-64-v3)"});
}

void AddMemory(std::vector<Finding>* findings) {
  const Result<MemoryFacts> memory = ReadMemoryFacts();
  if (!memory.ok()) {
    findings->push_back({"memory_bytes", "unknown", nullptr, memory.status().message()});
    return;
  }
  findings->push_back(
      {"memory_bytes",
       FormatBytes(memory->total_bytes) + (memory->cgroup_limited ? ", by a cgroup limit" : ""),
       memory->total_bytes, ""});
  findings->push_back(
      {"memory_free_bytes", FormatBytes(memory->available_bytes), memory->available_bytes, ""});
}

void AddFolders(std::vector<Finding>* findings) {
  const std::string cache = CacheFolder() + "/firebrick";
  const uint64_t free_bytes = FreeDiskBytes(cache);
  findings->push_back(
      {"cache_folder", fmt::format("{} ({} free)", cache, FormatBytes(free_bytes)), cache, ""});
  findings->push_back({"cache_free_bytes", "", free_bytes, ""});
  findings->push_back({"hub_cache_folder", HubCacheFolder(), HubCacheFolder(), ""});
  const bool present = ResolveModelPath("").ok();
  findings->push_back({"default_model", DefaultModelPath(), DefaultModelPath(),
                       present ? "" : "not there; get it with 'scripts/fetch-models'"});
  findings->push_back({"default_model_present", "", present, ""});
}

// What earlier starts measured: level for few rows / level for many, by shape of matrix.
void AddKernelChoices(std::vector<Finding>* findings) {
  const std::vector<ChoiceRecord> records = ListChoices(ChoiceFolder());
  Json list = Json::array();
  for (const ChoiceRecord& record : records) {
    const ChoiceFacts now = CurrentFacts(record.facts.num_threads);
    const bool is_current = now == record.facts;
    std::string shown = fmt::format(
        "{}, {} threads, timed in {:.0f} ms{}", record.model, record.facts.num_threads, record.seconds * 1e3,
        is_current ? "" : "; of another CPU or build, timed anew at the next start");
    Json choices = Json::object();
    for (const LinearChoice& choice : record.choices) {
      shown += fmt::format("\n{:20}  {}: {} for few rows, {} for many", "", choice.shape, NameOf(choice.few),
                           NameOf(choice.many));
      choices[choice.shape] = {{"few", NameOf(choice.few)}, {"many", NameOf(choice.many)}};
    }
    findings->push_back({"kernels", shown, nullptr, ""});
    list.push_back({{"model", record.model},
                    {"cpu", record.facts.cpu},
                    {"threads", record.facts.num_threads},
                    {"current", is_current},
                    {"choices", std::move(choices)}});
  }
  findings->push_back({"kernel_choices", records.empty() ? "none measured yet" : "", std::move(list), ""});
}

Status RunDoctor(bool json) {
  std::vector<Finding> findings;
  utsname system{};
  if (uname(&system) == 0) {
    const std::string kernel = fmt::format("{} {}", system.sysname, system.release);
    findings.push_back({"kernel", kernel, kernel, ""});
  }
  AddProcessor(&findings);
  AddMemory(&findings);
  AddFolders(&findings);
  AddKernelChoices(&findings);
  if (json) {
    Json report = Json::object();
    for (const Finding& finding : findings) {
      if (finding.name != "kernels") report[finding.name] = finding.value;
    }
    std::printf("%s\n", report.dump().c_str());
    return OkStatus();
  }
  for (const Finding& finding : findings) {
    if (finding.shown.empty() && finding.remedy.empty()) continue;
    std::printf("%-20s%s\n", finding.name.c_str(), finding.shown.c_str());
    if (!finding.remedy.empty()) std::printf("%-20s! %s\n", "", finding.remedy.c_str());
  }
  return OkStatus();
}

}  // namespace

CommandAction DeclareDoctor(FlagSet* flags) {
  auto json = std::make_shared<bool>(false);
  flags->Switch("--json", "Print one JSON object", json.get());
  flags->Example("firebrick doctor");
  return [json] { return RunDoctor(*json); };
}

}  // namespace firebrick
