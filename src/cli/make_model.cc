#include "cli/make_model.h"

#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "cli/commands.h"
#include "cli/progress.h"
#include "config/parse.h"
#include "weights/synthetic/write_model.h"

namespace firebrick {
namespace {

std::vector<std::string> ShapeNames() {
  std::vector<std::string> names;
  for (const ModelShape& shape : ModelShapes()) names.emplace_back(shape.name);
  return names;
}

constexpr int kNumWeightTypes = static_cast<int>(WeightType::kIQ4_XS) + 1;

std::vector<std::string> TypeNames() {
  std::vector<std::string> names;
  for (int i = 0; i < kNumWeightTypes; ++i) names.emplace_back(InfoOf(static_cast<WeightType>(i)).name);
  return names;
}

Result<SyntheticModel> Resolve(const MakeModelOptions& options) {
  SyntheticModel model;
  model.shape = FindModelShape(options.shape);
  if (model.shape == nullptr) {
    return InvalidArgument("no shape is named '{}'; there are: {}", options.shape,
                           fmt::join(ShapeNames(), ", "));
  }
  const std::optional<WeightType> type = FindWeightType(options.type);
  if (!type) {
    return InvalidArgument("no weight type is named '{}'; there are: {}", options.type,
                           fmt::join(TypeNames(), ", "));
  }
  model.type = *type;
  model.kind = options.format == "safetensors" ? CheckpointKind::kSafetensors : CheckpointKind::kGguf;
  if (model.kind == CheckpointKind::kSafetensors && options.out.ends_with(".safetensors")) {
    return InvalidArgument(
        "OUT is a folder for safetensors (it holds config.json and the tokenizer too); leave out "
        "'.safetensors' from {}",
        options.out);
  }
  model.path = options.out;
  std::error_code error;
  if (model.kind == CheckpointKind::kGguf && std::filesystem::is_directory(options.out, error)) {
    model.path = fmt::format("{}/{}-{}.gguf", options.out, options.shape, options.type);
  }
  model.seed = options.seed;
  model.num_threads = options.num_threads;
  model.tokenizer = options.tokenizer;
  return model;
}

}  // namespace

Status MakeModel(const MakeModelOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(SyntheticModel model, Resolve(options));
  std::unique_ptr<ProgressBar> bar;
  model.progress = [&](uint64_t done_bytes, uint64_t total_bytes) {
    if (bar == nullptr) bar = std::make_unique<ProgressBar>(options.shape, total_bytes);
    bar->Update(done_bytes);
  };
  ASSIGN_OR_RETURN(const SyntheticModelReport report, WriteSyntheticModel(model));
  if (bar != nullptr) bar->Finish();
  for (const std::string& fallback : report.fallbacks) {
    out << fmt::format("{} is replaced by {}\n", options.type, fallback);
  }
  out << fmt::format("{}: {} tensors, {:.1f} M parameters, {}\n", report.weights_path, report.num_tensors,
                     static_cast<double>(report.num_parameters) / 1e6, FormatBytes(report.file_bytes));
  return OkStatus();
}

CommandAction DeclareMakeModel(FlagSet* flags) {
  auto options = std::make_shared<MakeModelOptions>();
  auto seed = std::make_shared<std::optional<uint64_t>>();
  auto threads =
      std::make_shared<int32_t>(static_cast<int32_t>(std::max(1U, std::thread::hardware_concurrency())));
  flags->RequiredPositional("SHAPE", fmt::format("{}", fmt::join(ShapeNames(), ", ")), &options->shape);
  flags->RequiredPositional("OUT", "File of GGUF, or folder of safetensors", &options->out);
  flags->Choice("--type", TypeNames(), "Type of the matrices", &options->type);
  flags->Choice("--format", {"gguf", "safetensors"}, "File format", &options->format);
  flags->Unsigned("--seed", "N", "Another seed gives other weights", seed.get());
  flags->Text("--tokenizer", "FOLDER_OR_JSON", "Copy this tokenizer.json instead of generating one",
              &options->tokenizer);
  flags->Integer("--threads", "N", "Threads", threads.get(), 1, 256);
  flags->Example("firebrick make-model llama-1b llama-1b.gguf --type q8_0");
  return [options, seed, threads] {
    options->seed = seed->value_or(0);
    options->num_threads = *threads;
    return MakeModel(*options, std::cout);
  };
}

}  // namespace firebrick
