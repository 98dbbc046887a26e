#include "cli/inspect.h"

#include <algorithm>
#include <iostream>
#include <memory>

#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_path.h"
#include "config/parse.h"
#include "weights/checkpoint.h"
#include "weights/printable.h"

namespace firebrick {
namespace {

constexpr size_t kShownElements = 4;     // of a long array in the table
constexpr size_t kMaxJsonElements = 64;  // longer arrays are summarised in JSON, too
constexpr size_t kMaxShownText = 100;

template <typename T>
constexpr bool kIsVector = false;
template <typename T>
constexpr bool kIsVector<std::vector<T>> = true;

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

std::string ScalarText(const std::string& text) { return '"' + Printable(text, kMaxShownText) + '"'; }
std::string ScalarText(bool value) { return value ? "true" : "false"; }
// Most floats of a file are FP32, widened: 1e-05 rather than 9.999999747378752e-06.
std::string ScalarText(double value) {
  const auto narrow = static_cast<float>(value);
  return double{narrow} == value ? fmt::format("{}", narrow) : fmt::format("{}", value);
}
template <typename T>
std::string ScalarText(T value) {
  return fmt::format("{}", value);
}

// A metadata value on one line: long arrays by their length and first elements.
std::string ValueText(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> std::string {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (kIsVector<Held>) {
          std::string text = fmt::format("{} x [", held.size());
          for (size_t i = 0; i < std::min(held.size(), kShownElements); ++i) {
            text += (i > 0 ? ", " : "") + ScalarText(static_cast<typename Held::value_type>(held[i]));
          }
          return text + (held.size() > kShownElements ? ", ...]" : "]");
        } else {
          return ScalarText(held);
        }
      },
      value);
}

Json ValueJson(const GgufValue& value) {
  return std::visit(
      [](const auto& held) -> Json {
        using Held = std::decay_t<decltype(held)>;
        if constexpr (kIsVector<Held>) {
          Json first = Json::array();
          for (size_t i = 0; i < std::min(held.size(), kMaxJsonElements); ++i) {
            first.push_back(static_cast<typename Held::value_type>(held[i]));
          }
          if (held.size() <= kMaxJsonElements) return first;
          return Json{{"count", held.size()}, {"first", std::move(first)}};
        } else {
          return held;
        }
      },
      value);
}

struct TypeTotal {
  std::string_view name;
  size_t num_tensors = 0;
  uint64_t num_elements = 0;
  uint64_t num_bytes = 0;
};

// The largest share first.
std::vector<TypeTotal> TotalsByType(const Checkpoint& checkpoint) {
  std::vector<TypeTotal> totals;
  for (const RawTensor& tensor : checkpoint.tensors()) {
    const std::string_view name = InfoOf(tensor.type).name;
    auto found =
        std::find_if(totals.begin(), totals.end(), [&](const TypeTotal& t) { return t.name == name; });
    if (found == totals.end()) found = totals.insert(totals.end(), TypeTotal{name});
    ++found->num_tensors;
    found->num_elements += static_cast<uint64_t>(tensor.NumElements());
    found->num_bytes += tensor.data.size();
  }
  std::stable_sort(totals.begin(), totals.end(),
                   [](const TypeTotal& a, const TypeTotal& b) { return a.num_bytes > b.num_bytes; });
  return totals;
}

std::string ArchitectureOf(const Checkpoint& checkpoint) {
  if (const GgufValue* value = checkpoint.FindMetadata("general.architecture")) {
    const auto* text = std::get_if<std::string>(value);
    return text == nullptr ? "?" : Printable(*text, 64);
  }
  const Json& config = checkpoint.config();
  const bool named = config.is_object() && config.contains("model_type") && config["model_type"].is_string();
  return named ? Printable(config["model_type"].get<std::string>(), 64) : "?";
}

struct Sizes {
  uint64_t num_parameters = 0;
  uint64_t weight_bytes = 0;
  uint64_t file_bytes = 0;
};

Sizes SizesOf(const Checkpoint& checkpoint) {
  Sizes sizes;
  for (const RawTensor& tensor : checkpoint.tensors()) {
    sizes.num_parameters += static_cast<uint64_t>(tensor.NumElements());
    sizes.weight_bytes += tensor.data.size();
  }
  for (const MappedFile& file : checkpoint.files()) sizes.file_bytes += file.bytes().size();
  return sizes;
}

std::string_view KindName(CheckpointKind kind) {
  return kind == CheckpointKind::kGguf ? "GGUF" : "safetensors";
}

// "134.5 M"
std::string CountText(uint64_t count) {
  const auto value = static_cast<double>(count);
  if (count >= 1'000'000'000) return fmt::format("{:.2f} G", value / 1e9);
  if (count >= 1'000'000) return fmt::format("{:.1f} M", value / 1e6);
  if (count >= 10'000) return fmt::format("{:.1f} K", value / 1e3);
  return fmt::format("{}", count);
}

void PrintSummary(const Checkpoint& checkpoint, const Sizes& sizes, std::ostream& out) {
  const size_t num_files = checkpoint.files().size();
  out << fmt::format("model         {}\n", checkpoint.path());
  out << fmt::format("format        {}, {} file{}, {}\n", KindName(checkpoint.kind()), num_files,
                     num_files == 1 ? "" : "s", FormatBytes(sizes.file_bytes));
  out << fmt::format("architecture  {}\n", ArchitectureOf(checkpoint));
  out << fmt::format("tensors       {}, {} parameters, {} of weights\n", checkpoint.tensors().size(),
                     CountText(sizes.num_parameters), FormatBytes(sizes.weight_bytes));
  if (num_files > 1) {
    for (const MappedFile& file : checkpoint.files()) {
      out << fmt::format("              {}  {}\n", file.path(), FormatBytes(file.bytes().size()));
    }
  }
}

void PrintTypes(const Checkpoint& checkpoint, const Sizes& sizes, std::ostream& out) {
  if (checkpoint.tensors().empty()) return;
  out << fmt::format("\n{:<8} {:>8} {:>11} {:>11} {:>7} {:>12}\n", "type", "tensors", "values", "bytes",
                     "share", "bits/value");
  for (const TypeTotal& total : TotalsByType(checkpoint)) {
    out << fmt::format("{:<8} {:>8} {:>11} {:>11} {:>5.1f} % {:>12.2f}\n", total.name, total.num_tensors,
                       CountText(total.num_elements), FormatBytes(total.num_bytes),
                       100.0 * static_cast<double>(total.num_bytes) / static_cast<double>(sizes.weight_bytes),
                       8.0 * static_cast<double>(total.num_bytes) / static_cast<double>(total.num_elements));
  }
}

void PrintJsonObject(std::string_view title, const Json& object, std::ostream& out) {
  if (!object.is_object()) return;
  out << fmt::format("\n{}\n", title);
  for (const auto& [key, value] : object.items()) {
    const std::string text = value.dump(-1, ' ', false, Json::error_handler_t::replace);
    out << fmt::format("  {:<40} {}\n", Printable(key, 80), Printable(text, kMaxShownText));
  }
}

void PrintMetadata(const Checkpoint& checkpoint, std::ostream& out) {
  if (!checkpoint.metadata().empty()) out << "\nmetadata\n";
  for (const auto& [key, value] : checkpoint.metadata())
    out << fmt::format("  {:<40} {}\n", key, ValueText(value));
  PrintJsonObject("config.json", checkpoint.config(), out);
  PrintJsonObject("generation_config.json", checkpoint.generation_config(), out);
}

void PrintTensors(const Checkpoint& checkpoint, std::ostream& out) {
  size_t width = 4;
  for (const RawTensor& tensor : checkpoint.tensors()) width = std::max(width, tensor.name.size());
  out << fmt::format("\n{:<{}}  {:<7} {:<18} {:>11}\n", "name", width, "type", "shape", "bytes");
  for (const RawTensor& tensor : checkpoint.tensors()) {
    out << fmt::format("{:<{}}  {:<7} {:<18} {:>11}\n", tensor.name, width, InfoOf(tensor.type).name,
                       ShapeText(tensor.shape), FormatBytes(tensor.data.size()));
  }
  for (const OpaqueTensor& tensor : checkpoint.opaque_tensors()) {
    out << fmt::format("{:<{}}  {:<7} {:<18} {:>11}  (not a weight)\n", tensor.name, width, tensor.dtype,
                       ShapeText(tensor.shape), FormatBytes(tensor.num_bytes));
  }
}

Json ReportJson(const Checkpoint& checkpoint, const Sizes& sizes, bool with_tensors) {
  Json report = {{"path", checkpoint.path()},
                 {"format", checkpoint.kind() == CheckpointKind::kGguf ? "gguf" : "safetensors"},
                 {"architecture", ArchitectureOf(checkpoint)},
                 {"parameters", sizes.num_parameters},
                 {"weight_bytes", sizes.weight_bytes},
                 {"file_bytes", sizes.file_bytes},
                 {"files", Json::array()},
                 {"types", Json::object()}};
  for (const MappedFile& file : checkpoint.files()) report["files"].push_back(file.path());
  for (const TypeTotal& total : TotalsByType(checkpoint)) {
    report["types"][std::string(total.name)] = {
        {"tensors", total.num_tensors}, {"values", total.num_elements}, {"bytes", total.num_bytes}};
  }
  Json metadata = Json::object();
  for (const auto& [key, value] : checkpoint.metadata()) metadata[key] = ValueJson(value);
  report["metadata"] = std::move(metadata);
  report["config"] = checkpoint.config();
  report["generation_config"] = checkpoint.generation_config();
  if (!with_tensors) return report;
  Json tensors = Json::array();
  for (const RawTensor& tensor : checkpoint.tensors()) {
    tensors.push_back({{"name", tensor.name},
                       {"type", InfoOf(tensor.type).name},
                       {"shape", tensor.shape},
                       {"bytes", tensor.data.size()},
                       {"file", tensor.file_index},
                       {"offset", tensor.file_offset}});
  }
  report["tensors"] = std::move(tensors);
  return report;
}

}  // namespace

Status Inspect(const InspectOptions& options, std::ostream& out) {
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(options.path));
  const Sizes sizes = SizesOf(checkpoint);
  if (options.json) {
    out << ReportJson(checkpoint, sizes, options.tensors).dump(-1, ' ', false, Json::error_handler_t::replace)
        << '\n';
    return OkStatus();
  }
  PrintSummary(checkpoint, sizes, out);
  PrintTypes(checkpoint, sizes, out);
  PrintMetadata(checkpoint, out);
  if (options.tensors) PrintTensors(checkpoint, out);
  return OkStatus();
}

CommandAction DeclareInspect(FlagSet* flags) {
  struct Flags {
    std::string model;
    bool json = false;
    bool summary = false;
  };
  auto given = std::make_shared<Flags>();
  flags->Positional("MODEL", "File, folder or hub name; left out: the default model", &given->model);
  flags->Switch("--json", "Print one JSON object", &given->json);
  flags->Switch("--summary", "Leave out the list of tensors", &given->summary);
  flags->Example("firebrick inspect model.gguf --summary");
  return [given]() -> Status {
    InspectOptions options{.path = {}, .json = given->json, .tensors = !given->summary};
    ASSIGN_OR_RETURN(options.path, ResolveModelPath(given->model));
    return Inspect(options, std::cout);
  };
}

}  // namespace firebrick
