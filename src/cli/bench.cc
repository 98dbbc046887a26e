#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench_growth.h"
#include "cli/bench_kernels.h"
#include "cli/bench_overhead.h"
#include "cli/bench_speed.h"
#include "cli/bench_start.h"
#include "cli/bench_steady.h"
#include "cli/commands.h"
#include "cli/model_flags.h"

namespace firebrick {
namespace {

// `speed` holds what several benches share: the model, the number of runs, the form of the output.
struct BenchFlags {
  std::string what;
  BenchSpeedOptions speed;
  BenchKernelsOptions kernels;
  BenchGrowthOptions growth;
  std::vector<int32_t> growth_up_to{growth.max_batch, growth.max_context};
  BenchSteadyOptions steady;
  std::vector<int32_t> steady_load{steady.streams, steady.prompts, steady.prompt};
  BenchStartOptions start;
  BenchOverheadOptions overhead;
};

Status RunKernels(BenchFlags& flags) {
  const ModelOptions& model = flags.speed.model;
  if (!model.model.empty()) return InvalidArgument("bench kernels takes no model: {}", model.model);
  flags.kernels.isa = model.isa.value;
  flags.kernels.threads = model.threads.value;
  flags.kernels.repeat = flags.speed.repeat;
  flags.kernels.json = flags.speed.json;
  return RunBenchKernels(flags.kernels, std::cout);
}

Status RunGrowth(BenchFlags& flags) {
  if (flags.growth_up_to.size() != 2) return InvalidArgument("--up-to takes two numbers: streams and tokens");
  flags.growth.max_batch = flags.growth_up_to[0];
  flags.growth.max_context = flags.growth_up_to[1];
  flags.growth.model = flags.speed.model;
  flags.growth.repeat = flags.speed.repeat;
  flags.growth.json = flags.speed.json;
  return RunBenchGrowth(flags.growth, std::cout);
}

Status RunSteady(BenchFlags& flags) {
  if (flags.steady_load.size() != 3) {
    return InvalidArgument("--load takes three numbers: streams, prompts that arrive, tokens of each prompt");
  }
  flags.steady.streams = flags.steady_load[0];
  flags.steady.prompts = flags.steady_load[1];
  flags.steady.prompt = flags.steady_load[2];
  flags.steady.model = flags.speed.model;
  flags.steady.json = flags.speed.json;
  return RunBenchSteady(flags.steady, std::cout);
}

Status RunStart(BenchFlags& flags) {
  flags.start.model = flags.speed.model;
  flags.start.repeat = flags.speed.repeat;
  flags.start.json = flags.speed.json;
  return RunBenchStart(flags.start, std::cout);
}

Status RunOverhead(BenchFlags& flags) {
  flags.overhead.model = flags.speed.model;
  flags.overhead.json = flags.speed.json;
  return RunBenchOverhead(flags.overhead, std::cout);
}

Status Run(BenchFlags& flags) {
  if (flags.what == "speed") return RunBenchSpeed(flags.speed, std::cout);
  if (flags.what == "kernels") return RunKernels(flags);
  if (flags.what == "growth") return RunGrowth(flags);
  if (flags.what == "steady") return RunSteady(flags);
  if (flags.what == "start") return RunStart(flags);
  if (flags.what == "overhead") return RunOverhead(flags);
  return InvalidArgument(
      "bench {}: there is no such bench; use 'speed', 'kernels', 'growth', 'steady', 'start' or 'overhead'",
      flags.what);
}

}  // namespace

CommandAction DeclareBench(FlagSet* flags) {
  auto options = std::make_shared<BenchFlags>();
  flags->RequiredPositional(
      "WHAT", "speed, kernels, growth, steady, start or overhead: docs/guide/benchmarks.md", &options->what);
  AddModelFlags(&options->speed.model, flags);
  flags->Integer("--repeat", "N", "runs of each measurement; the median counts", &options->speed.repeat, 1,
                 100);
  flags->Switch("--json", "print one JSON object", &options->speed.json);
  flags->Integer("--prompt", "N", "speed: tokens whose prefill is measured; 0 leaves it out",
                 &options->speed.prompt, 0);
  flags->Integer("--context", "N", "speed: tokens before the decoded ones; default: as --prompt",
                 &options->speed.context, 0);
  flags->Integer("--gen", "N", "speed: tokens that each stream decodes", &options->speed.gen, 1);
  flags->IntegerList("--streams", "N,N", "speed: sequences decoded at once", &options->speed.streams, 1,
                     4096);
  flags->TextList("--type", "TYPE", "kernels: a weight type, as make-model spells it; may be repeated",
                  &options->kernels.types);
  flags->IntegerList("--rows", "N,N", "kernels: tokens computed at once", &options->kernels.rows, 1, 8192);
  flags->Integer("--outputs", "N", "kernels: rows of the weight matrix", &options->kernels.outputs, 1,
                 1 << 20);
  flags->Integer("--cols", "N", "kernels: its columns, a multiple of 256", &options->kernels.cols, 256,
                 1 << 20);
  flags->IntegerList("--up-to", "N,N", "growth: the most streams, and tokens of context",
                     &options->growth_up_to, 2, 1 << 20);
  flags->IntegerList("--load", "N,N,N", "steady: streams, prompts that arrive, tokens of each",
                     &options->steady_load, 1, 1 << 20);
  flags->Integer("--idle", "S", "overhead: seconds without a request", &options->overhead.idle_seconds, 1,
                 3600);
  flags->Switch("--untouched-memory", "start: leave free memory as it is found before each start",
                &options->start.untouched_memory);
  flags->Example("firebrick bench speed model.gguf --prompt 512 --gen 32 --streams 1,4,8,16 --json");
  return [options]() -> Status { return Run(*options); };
}

}  // namespace firebrick
