#include <iostream>
#include <memory>

#include "cli/bench_growth.h"
#include "cli/bench_kernels.h"
#include "cli/bench_speed.h"
#include "cli/bench_steady.h"
#include "cli/commands.h"
#include "cli/model_flags.h"

namespace firebrick {
namespace {

struct BenchFlags {
  std::string what;
  BenchSpeedOptions speed;
  BenchKernelsOptions kernels;
  BenchGrowthOptions growth;
  BenchSteadyOptions steady;
};

}  // namespace

CommandAction DeclareBench(FlagSet* flags) {
  auto options = std::make_shared<BenchFlags>();
  flags->RequiredPositional(
      "WHAT",
      "speed: prefill and decode of a model, below server and scheduler; kernels: each matrix "
      "kernel alone; growth: a step's time against batch and context; steady: streams while "
      "prompts arrive",
      &options->what);
  AddModelFlags(&options->speed.model, flags);
  flags->Integer("--prompt", "N", "tokens whose prefill is measured; 0 leaves it out", &options->speed.prompt,
                 0);
  flags->Integer("--context", "N", "tokens before those that a stream decodes; default: as --prompt",
                 &options->speed.context, 0);
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
  flags->Integer("--max-batch", "N", "growth: streams, up to", &options->growth.max_batch, 2, 4096);
  flags->Integer("--max-context", "N", "growth: tokens of context, up to", &options->growth.max_context, 64,
                 1 << 20);
  flags->Integer("--arriving", "N", "steady: tokens of each prompt that arrives", &options->steady.prompt, 1,
                 1 << 20);
  flags->Integer("--prompts", "N", "steady: prompts that arrive", &options->steady.prompts, 1, 1000);
  flags->Integer("--steady-streams", "N", "steady: streams answered throughout", &options->steady.streams, 1,
                 4096);
  flags->Switch("--json", "print one JSON object", &options->speed.json);
  flags->Example("firebrick bench speed model.gguf --prompt 512 --gen 32 --streams 1,4,8,16 --json");
  return [options]() -> Status {
    if (options->what == "speed") return RunBenchSpeed(options->speed, std::cout);
    if (options->what == "growth") {
      options->growth.model = options->speed.model;
      options->growth.repeat = options->speed.repeat;
      options->growth.json = options->speed.json;
      return RunBenchGrowth(options->growth, std::cout);
    }
    if (options->what == "steady") {
      options->steady.model = options->speed.model;
      options->steady.json = options->speed.json;
      return RunBenchSteady(options->steady, std::cout);
    }
    if (options->what != "kernels") {
      return InvalidArgument("bench {}: there is no such bench; use 'speed', 'kernels', 'growth' or 'steady'",
                             options->what);
    }
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
