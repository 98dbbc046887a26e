// Choice by measurement: which level's kernel multiplies a matrix of a given shape by few rows, and which by
// many. Every level gives the same bits, so a choice alters speed and never an answer. Capability leaves the
// candidates; a timing at the first start decides between them; a file keeps what it found.
// Thread: the loading thread, before any step.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "device/thread_pool.h"
#include "kernels/matrix_shape.h"
#include "kernels/ops.h"

namespace firebrick {

// A step of fewer rows than this takes the kernel that was timed with one row, others that of many.
inline constexpr int64_t kManyRows = 8;

// "codes4/32 min f16 2048x8192": group size, whether it has minima, how scales are kept, outputs x columns.
std::string NameOf(const MatrixShape& shape);

struct LinearChoice {
  std::string shape;  // NameOf
  IsaLevel few = IsaLevel::kRef;
  IsaLevel many = IsaLevel::kRef;
  friend bool operator==(const LinearChoice&, const LinearChoice&) = default;
};

// Where and of what a choice was measured. It holds for exactly that.
struct ChoiceFacts {
  std::string cpu;
  std::string build;  // identity of this binary
  int32_t num_threads = 0;
  std::vector<IsaLevel> candidates;
  friend bool operator==(const ChoiceFacts&, const ChoiceFacts&) = default;
};
struct ChoiceRecord {
  ChoiceFacts facts;
  std::string model;   // for people
  double seconds = 0;  // that the measurement took
  std::vector<LinearChoice> choices;
};

// Seconds of one product with num_rows rows.
using LinearTimer = std::function<Result<double>(const Ops& ops, const MatrixShape& shape, int64_t num_rows)>;
// Seconds on some clock.
using SecondsClock = std::function<double()>;

// The fastest candidate of each shape; the later one of those that differ by less than the noise. Shapes that
// are not reached within `budget_s` get the last candidate, which is the best by capability.
std::vector<LinearChoice> MeasureChoices(std::span<const MatrixShape> shapes,
                                         std::span<const Ops* const> candidates, const LinearTimer& timer,
                                         double budget_s, const SecondsClock& clock);
// Products of matrices of a few MiB, on all threads of the pool.
LinearTimer MakeLinearTimer(ThreadPool* pool);

// The file of a record, by CPU and shapes, in FOLDER/kernels-XXXXXXXXXXXXXXXX.json.
std::string ChoicePath(const std::string& folder, const ChoiceFacts& facts,
                       std::span<const MatrixShape> shapes);
std::string FormatChoices(const ChoiceRecord& record);
// kDataLoss: not such a text.
Result<ChoiceRecord> ParseChoices(std::string_view text);
// Records of a folder, for people; damaged ones are left out.
std::vector<ChoiceRecord> ListChoices(const std::string& folder);

// What this process would measure: CPU, build, levels without ref; kAmx only where its self-check passes (a
// failure is logged).
ChoiceFacts CurrentFacts(int32_t num_threads);
std::string ChoiceFolder();

// The table for `shapes`: from the file where it fits, else measured and written there. A file of another
// CPU or build is measured anew; a damaged one, too, with a warning. Where the folder cannot be written the
// choice holds for this process. At most 64 different shapes per process are told apart.
const Ops* ChooseOps(std::span<const MatrixShape> shapes, const std::string& model, const std::string& folder,
                     ThreadPool* pool);

}  // namespace firebrick
