#include <iostream>
#include <memory>

#include "cli/bench_kernels.h"
#include "cli/bench_overhead.h"
#include "cli/bench_speed.h"
#include "cli/bench_start.h"
#include "cli/commands.h"
#include "cli/model_flags.h"

namespace firebrick {
namespace {

struct BenchFlags {
  std::string what;
  BenchSpeedOptions speed;
  BenchKernelsOptions kernels;
  BenchStartOptions start;
  BenchOverheadOptions overhead;
};

}  // namespace

CommandAction DeclareBench(FlagSet* flags) {
  auto options = std::make_shared<BenchFlags>();
  flags->RequiredPositional(
      "WHAT",
      "speed: prefill and decode of a model, below server and scheduler; kernels: each matrix kernel alone; "
      "start: a server from its process to its first token, and its memory; overhead: CPU time of an idle "
      "server, "
      "and beside the arithmetic",
      &options->what);
  AddModelFlags(&options->speed.model, flags);
  flags->Integer("--prompt", "N", "tokens of each prompt", &options->speed.prompt, 1);
  flags->Integer("--gen", "N", "tokens that each stream decodes", &options->speed.gen, 1);
  flags->IntegerList("--streams", "N,N", "sequences decoded at once", &options->speed.streams, 1, 4096);
  flags->Integer("--repeat", "N", "runs of each measurement; the median counts", &options->speed.repeat, 1,
                 100);
  flags->TextList("--type", "TYPE", "kernels: a weight type, as make-model spells it; may be repeated",
                  &options->kernels.types);
  flags->IntegerList("--rows", "N,N", "kernels: tokens computed at once", &options->kernels.rows, 1, 8192);
  flags->Integer("--outputs", "N", "kernels: rows of the weight matrix", &options->kernels.outputs, 1,
                 1 << 20);
  flags->Integer("--cols", "N", "kernels: its columns, a multiple of 256", &options->kernels.cols, 256,
                 1 << 20);
  flags->Integer("--idle", "S", "overhead: seconds without a request", &options->overhead.idle_seconds, 1,
                 3600);
  flags->Switch("--untouched-memory", "start: leave free memory as it is found before each start",
                &options->start.untouched_memory);
  flags->Switch("--json", "print one JSON object", &options->speed.json);
  flags->Example("firebrick bench speed model.gguf --prompt 512 --gen 32 --streams 1,4,8,16 --json");
  return [options]() -> Status {
    if (options->what == "speed") return RunBenchSpeed(options->speed, std::cout);
    if (options->what == "start") {
      options->start.model = options->speed.model;
      options->start.repeat = options->speed.repeat;
      options->start.json = options->speed.json;
      return RunBenchStart(options->start, std::cout);
    }
    if (options->what == "overhead") {
      options->overhead.model = options->speed.model;
      options->overhead.json = options->speed.json;
      return RunBenchOverhead(options->overhead, std::cout);
    }
    if (options->what != "kernels")
      return InvalidArgument(
          "bench {}: there is no such bench; use 'speed', 'kernels', 'start' or 'overhead'", options->what);
    const ModelOptions& model = options->speed.model;
    if (!model.model.empty()) return InvalidArgument("bench kernels takes no model: {}", model.model);
    options->kernels.isa = model.isa.value;
    options->kernels.threads = model.threads.value;
    options->kernels.repeat = options->speed.repeat;
    options->kernels.json = options->speed.json;
    return RunBenchKernels(options->kernels, std::cout);
  };
}

}  // namespace firebrick
