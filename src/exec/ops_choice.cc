#include "exec/ops_choice.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/stat.h>

#include "base/checksum.h"
#include "base/env.h"
#include "base/file.h"
#include "base/json.h"
#include "base/log.h"
#include "device/topology.h"
#include "kernels/self_check.h"

namespace firebrick {
namespace {

constexpr double kBudgetSeconds = 0.15;
constexpr double kNoise = 0.05;  // a lower level must be faster by this share
constexpr uint64_t kMaxFileBytes = 1 << 20;
constexpr int64_t kFew = 1;
constexpr int64_t kMany = 32;

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// --- the table ---------------------------------------------------------------------------------------

struct Entry {
  MatrixShape shape;
  LinearFn few = nullptr;
  LinearFn many = nullptr;
};

// Kernels are plain functions, so what they look up is of the process. Entries are only ever added, before
// the first step of the model that needs them.
class ChosenKernels {
 public:
  const Entry* Find(const PackedLinear& weights) const {
    const size_t count = count_.load(std::memory_order_acquire);
    for (size_t i = 0; i < count; ++i) {
      const MatrixShape& shape = entries_[i].shape;
      if (shape.num_outputs == weights.num_outputs() && shape.num_cols == weights.num_cols() &&
          shape.format == weights.format())
        return &entries_[i];
    }
    return nullptr;
  }
  void Add(const Entry& entry) {
    const std::lock_guard lock(mutex_);
    const size_t count = count_.load(std::memory_order_relaxed);
    for (size_t i = 0; i < count; ++i) {
      if (entries_[i].shape == entry.shape) return;
    }
    if (count == entries_.size()) return;
    entries_[count] = entry;
    count_.store(count + 1, std::memory_order_release);
  }
  // The table whose matrix products come from here. `best` gives all else.
  const Ops* TableOver(const Ops& best) {
    const std::lock_guard lock(mutex_);
    if (table_.level != best.level) {
      table_ = best;
      best_ = &best;
      table_.linear.fill(&Run);
    }
    return &table_;
  }

 private:
  static void Run(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                  const float* bias, float* y, int64_t ldy);

  std::mutex mutex_;
  std::array<Entry, 64> entries_;
  std::atomic<size_t> count_{0};
  const Ops* best_ = nullptr;
  Ops table_;
};

ChosenKernels& Chosen() {
  static ChosenKernels chosen;
  return chosen;
}

void ChosenKernels::Run(const PackedLinear& weights, const Activation& x, IndexRange rows, IndexRange panels,
                        const float* bias, float* y, int64_t ldy) {
  const ChosenKernels& chosen = Chosen();
  const Entry* entry = chosen.Find(weights);
  LinearFn linear = chosen.best_->linear[static_cast<size_t>(weights.packing())];
  // By the rows of the whole step, not of this slice.
  if (entry != nullptr) linear = x.num_rows() < kManyRows ? entry->few : entry->many;
  linear(weights, x, rows, panels, bias, y, ldy);
}

// --- names -------------------------------------------------------------------------------------------

Json LevelsToJson(const std::vector<IsaLevel>& levels) {
  Json list = Json::array();
  for (const IsaLevel level : levels) list.push_back(NameOf(level));
  return list;
}

// Identity of this binary without reading it.
std::string BuildIdentity() {
  struct stat info {};
  if (::stat("/proc/self/exe", &info) != 0) return "unknown";
  return fmt::format("{}-{}.{}", info.st_size, info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

const LinearChoice* FindChoice(const std::vector<LinearChoice>& choices, const std::string& shape) {
  for (const LinearChoice& choice : choices) {
    if (choice.shape == shape) return &choice;
  }
  return nullptr;
}

bool Covers(const ChoiceRecord& record, std::span<const MatrixShape> shapes) {
  return std::all_of(shapes.begin(), shapes.end(), [&](const MatrixShape& shape) {
    const LinearChoice* choice = FindChoice(record.choices, NameOf(shape));
    const auto known = [&](IsaLevel level) {
      const auto& levels = record.facts.candidates;
      return std::find(levels.begin(), levels.end(), level) != levels.end();
    };
    return choice != nullptr && known(choice->few) && known(choice->many);
  });
}

// The record of the file where it holds for this process.
std::optional<ChoiceRecord> ReadRecord(const std::string& path, const ChoiceFacts& facts,
                                       std::span<const MatrixShape> shapes) {
  const Result<std::string> text = ReadFile(path, kMaxFileBytes);
  if (!text.ok()) return std::nullopt;
  Result<ChoiceRecord> record = ParseChoices(*text);
  if (!record.ok()) {
    FB_LOG_WARN("{}: {}; the kernels are timed anew and the file is replaced", path,
                record.status().message());
    return std::nullopt;
  }
  if (record->facts != facts || !Covers(*record, shapes)) {
    FB_LOG_INFO("{} is of another CPU, build or number of threads: the kernels are timed anew", path);
    return std::nullopt;
  }
  return std::move(*record);
}

void WriteRecord(const std::string& path, const ChoiceRecord& record) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const Status status = WriteFileAtomically(path, FormatChoices(record));
  if (!status.ok()) {
    FB_LOG_WARN("{}; kernels are timed at every start until that folder can be written", status.message());
  }
}

}  // namespace

std::string NameOf(const MatrixShape& shape) {
  const CanonicalFormat& format = shape.format;
  std::string name;
  switch (PackingOf(shape.format)) {
    case Packing::kF32:
      name = "f32";
      break;
    case Packing::kBF16:
      name = "bf16";
      break;
    case Packing::kF16:
      name = "f16";
      break;
    case Packing::kCodes8:
    case Packing::kCodes4:
      name = fmt::format("codes{}/{}{}{}", format.code_bits, format.group_size, format.has_min ? " min" : "",
                         format.f16_scales ? " f16" : "");
      break;
  }
  return fmt::format("{} {}x{}", name, shape.num_outputs, shape.num_cols);
}

std::vector<LinearChoice> MeasureChoices(std::span<const MatrixShape> shapes,
                                         std::span<const Ops* const> candidates, const LinearTimer& timer,
                                         double budget_s, const SecondsClock& clock) {
  CHECK(!candidates.empty());
  const double end = clock() + budget_s;
  const auto fastest = [&](const MatrixShape& shape, int64_t num_rows) {
    const Ops* best = candidates.back();
    double best_s = std::numeric_limits<double>::infinity();
    for (size_t i = candidates.size(); i-- > 0;) {
      if (clock() >= end) return candidates.back()->level;
      const Result<double> seconds = timer(*candidates[i], shape, num_rows);
      if (!seconds.ok()) return candidates.back()->level;
      if (*seconds < best_s * (1 - kNoise)) {
        best = candidates[i];
        best_s = *seconds;
      }
    }
    return best->level;
  };
  std::vector<LinearChoice> choices;
  for (const MatrixShape& shape : shapes) {
    choices.push_back({NameOf(shape), fastest(shape, kFew), fastest(shape, kMany)});
  }
  return choices;
}

LinearTimer MakeLinearTimer(ThreadPool* pool) {
  return [pool](const Ops& ops, const MatrixShape& shape, int64_t num_rows) -> Result<double> {
    constexpr int64_t kMostWeights = 2 << 20;
    constexpr int kRuns = 3;
    const int64_t outputs =
        std::min(shape.num_outputs, std::max<int64_t>(kMostWeights / shape.num_cols, kPanelOutputs * 4));
    ASSIGN_OR_RETURN(const PackedLinear weights, PackedLinear::Create(shape.format, outputs, shape.num_cols));
    Activation activation;
    RETURN_IF_ERROR(activation.Reshape(num_rows, shape.num_cols, NeedsOf(ops, weights)));
    const std::vector<float> x(static_cast<size_t>(num_rows * shape.num_cols), 0.5F);
    ops.prepare_activation(x.data(), shape.num_cols, {0, num_rows}, &activation);
    std::vector<float> y(static_cast<size_t>(num_rows * outputs));
    double best = std::numeric_limits<double>::infinity();
    for (int run = 0; run <= kRuns; ++run) {  // the first one brings the memory in
      const double begin = Now();
      pool->ParallelFor(weights.num_panels(), [&](int64_t first, int64_t last, int32_t) {
        Linear(ops, weights, activation, {0, num_rows}, {first, last}, nullptr, y.data(), outputs);
      });
      if (run > 0) best = std::min(best, Now() - begin);
    }
    return best;
  };
}

std::string ChoicePath(const std::string& folder, const ChoiceFacts& facts,
                       std::span<const MatrixShape> shapes) {
  std::string key = fmt::format("{}\n{}\n", facts.cpu, facts.num_threads);
  for (const MatrixShape& shape : shapes) key += NameOf(shape) + "\n";
  return fmt::format("{}/kernels-{}.json", folder, ToHex(Sha256Of(key)).substr(0, 16));
}

std::string FormatChoices(const ChoiceRecord& record) {
  Json list = Json::array();
  for (const LinearChoice& choice : record.choices) {
    list.push_back({{"shape", choice.shape}, {"few", NameOf(choice.few)}, {"many", NameOf(choice.many)}});
  }
  const Json json = {{"cpu", record.facts.cpu},
                     {"build", record.facts.build},
                     {"threads", record.facts.num_threads},
                     {"candidates", LevelsToJson(record.facts.candidates)},
                     {"model", record.model},
                     {"seconds", record.seconds},
                     {"choices", std::move(list)}};
  return json.dump(1) + "\n";
}

Result<ChoiceRecord> ParseChoices(std::string_view text) {
  constexpr size_t kDepth = 8;
  ASSIGN_OR_RETURN(const Json json, ParseJson(text, kDepth));
  const auto level_of = [](const Json& name) {
    const auto level = FindIsaLevel(name.get<std::string>());
    if (!level) throw std::invalid_argument("no such level");
    return *level;
  };
  try {
    ChoiceRecord record;
    record.facts.cpu = json.at("cpu").get<std::string>();
    record.facts.build = json.at("build").get<std::string>();
    record.facts.num_threads = json.at("threads").get<int32_t>();
    for (const Json& name : json.at("candidates")) record.facts.candidates.push_back(level_of(name));
    record.model = json.at("model").get<std::string>();
    record.seconds = json.at("seconds").get<double>();
    for (const Json& choice : json.at("choices")) {
      record.choices.push_back(
          {choice.at("shape").get<std::string>(), level_of(choice.at("few")), level_of(choice.at("many"))});
    }
    return record;
  } catch (const std::exception&) {
    return DataLoss("holds no choice of kernels");
  }
}

std::vector<ChoiceRecord> ListChoices(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (std::filesystem::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("kernels-") && name.ends_with(".json")) paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<ChoiceRecord> records;
  for (const std::string& path : paths) {
    const Result<std::string> text = ReadFile(path, kMaxFileBytes);
    if (!text.ok()) continue;
    if (Result<ChoiceRecord> record = ParseChoices(*text); record.ok()) records.push_back(std::move(*record));
  }
  return records;
}

ChoiceFacts CurrentFacts(int32_t num_threads) {
  ChoiceFacts facts{ReadTopology().cpu_name, BuildIdentity(), num_threads, {}};
  for (const IsaLevel level : AvailableLevels()) {
    if (level == IsaLevel::kRef) continue;
    if (level == IsaLevel::kAmx) {
      // Its instructions have only been seen emulated.
      if (const Status check = CheckAgainstReference(*FindOps(level)); !check.ok()) {
        FB_LOG_WARN(
            "AMX computes other bits than the reference on this CPU ({}); it is not used. Please "
            "report this with the output of 'firebrick doctor'",
            check.message());
        continue;
      }
    }
    facts.candidates.push_back(level);
  }
  return facts;
}

std::string ChoiceFolder() { return CacheFolder() + "/firebrick/kernels"; }

const Ops* ChooseOps(std::span<const MatrixShape> shapes, const std::string& model, const std::string& folder,
                     ThreadPool* pool) {
  const ChoiceFacts facts = CurrentFacts(pool->num_threads());
  if (facts.candidates.empty()) return &BestOps();
  std::vector<const Ops*> candidates;
  for (const IsaLevel level : facts.candidates) candidates.push_back(FindOps(level));
  if (candidates.size() == 1) return candidates[0];

  const std::string path = ChoicePath(folder, facts, shapes);
  std::optional<ChoiceRecord> record = ReadRecord(path, facts, shapes);
  if (!record) {
    const double begin = Now();
    record = ChoiceRecord{facts, model, 0,
                          MeasureChoices(shapes, candidates, MakeLinearTimer(pool), kBudgetSeconds, Now)};
    record->seconds = Now() - begin;
    WriteRecord(path, *record);
  }
  for (const MatrixShape& shape : shapes) {
    const LinearChoice* choice = FindChoice(record->choices, NameOf(shape));
    const auto packing = static_cast<size_t>(PackingOf(shape.format));
    Chosen().Add({shape, FindOps(choice->few)->linear[packing], FindOps(choice->many)->linear[packing]});
    FB_LOG_DEBUG("kernels of {}: {} for few rows, {} for many", choice->shape, NameOf(choice->few),
                 NameOf(choice->many));
  }
  return Chosen().TableOver(*candidates.back());
}

}  // namespace firebrick
