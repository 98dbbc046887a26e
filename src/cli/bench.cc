#include <iostream>
#include <memory>

#include "cli/bench_speed.h"
#include "cli/commands.h"
#include "cli/model_flags.h"

namespace firebrick {
namespace {

struct BenchFlags {
  std::string what;
  BenchSpeedOptions speed;
};

}  // namespace

CommandAction DeclareBench(FlagSet* flags) {
  auto options = std::make_shared<BenchFlags>();
  flags->RequiredPositional("WHAT", "speed: prefill and decode of a model, below server and scheduler",
                            &options->what);
  AddModelFlags(&options->speed.model, flags);
  flags->Integer("--prompt", "N", "tokens of each prompt", &options->speed.prompt, 1);
  flags->Integer("--gen", "N", "tokens that each stream decodes", &options->speed.gen, 1);
  flags->IntegerList("--streams", "N,N", "sequences decoded at once", &options->speed.streams, 1, 4096);
  flags->Integer("--repeat", "N", "runs of each measurement; the median counts", &options->speed.repeat, 1,
                 100);
  flags->Switch("--json", "print one JSON object", &options->speed.json);
  flags->Example("firebrick bench speed model.gguf --prompt 512 --gen 32 --streams 1,4,8,16 --json");
  return [options]() -> Status {
    if (options->what != "speed")
      return InvalidArgument("bench {}: there is no such bench; use 'speed'", options->what);
    return RunBenchSpeed(options->speed, std::cout);
  };
}

}  // namespace firebrick
