// firebrick doctor: what this machine offers, what a server here could use, and what is missing.
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include <sys/statvfs.h>
#include <sys/utsname.h>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "config/parse.h"

namespace firebrick {
namespace {

struct DoctorOptions {
  bool json = false;
};

// Free bytes of the file system that holds the nearest existing folder above `path`.
uint64_t FreeDiskBytes(const std::string& path) {
  std::error_code error;
  std::filesystem::path folder = path;
  while (!std::filesystem::exists(folder, error) && folder.has_relative_path()) folder = folder.parent_path();
  struct statvfs disk {};
  if (statvfs(folder.c_str(), &disk) != 0) return 0;
  return static_cast<uint64_t>(disk.f_bavail) * disk.f_frsize;
}

Json Examine() {
  Json report;
  utsname system{};
  if (uname(&system) == 0) report["kernel"] = fmt::format("{} {}", system.sysname, system.release);
  report["cpus"] = std::thread::hardware_concurrency();
  report["cache_folder"] = CacheFolder() + "/firebrick";
  report["cache_free_bytes"] = FreeDiskBytes(CacheFolder());
  report["hub_cache_folder"] = HubCacheFolder();
  const Result<std::string> model = ResolveModelPath("");
  report["default_model"] = DefaultModelPath();
  report["default_model_present"] = model.ok();
  return report;
}

Status RunDoctor(const DoctorOptions& options) {
  const Json report = Examine();
  if (options.json) {
    std::printf("%s\n", report.dump().c_str());
    return OkStatus();
  }
  for (const auto& [name, value] : report.items()) {
    const bool bytes = name.ends_with("_bytes");
    const std::string shown = bytes               ? FormatBytes(value.get<uint64_t>())
                              : value.is_string() ? value.get<std::string>()
                                                  : value.dump();
    std::printf("%-24s%s\n", name.c_str(), shown.c_str());
  }
  return OkStatus();
}

}  // namespace

CommandAction DeclareDoctor(FlagSet* flags) {
  auto options = std::make_shared<DoctorOptions>();
  flags->Switch("--json", "Print one JSON object", &options->json);
  flags->Example("firebrick doctor");
  return [options] { return RunDoctor(*options); };
}

}  // namespace firebrick
