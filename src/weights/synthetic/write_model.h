// Writes a whole model with random weights: a .gguf file, or a Hugging Face folder. Thread: any; starts its
// own.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "weights/synthetic/shape.h"

namespace firebrick {

struct SyntheticModel {
  const ModelShape* shape = nullptr;
  CheckpointKind kind = CheckpointKind::kGguf;
  WeightType type = WeightType::kBF16;
  uint64_t seed = 0;
  int num_threads = 2;
  std::string path;       // the .gguf file, or the folder (created where absent)
  std::string tokenizer;  // CopyTokenizer's path; empty: MakeSyntheticTokenizer
  // Called by one thread at a time, a few times a second or more, with bytes of weights written.
  std::function<void(uint64_t done_bytes, uint64_t total_bytes)> progress;
};

struct SyntheticModelReport {
  std::string weights_path;
  uint64_t file_bytes = 0;
  uint64_t num_parameters = 0;
  size_t num_tensors = 0;
  std::vector<std::string> fallbacks;  // "q5_0 for 210 tensors: rows of 576 columns", one per type and width
};

// The same options give the same bytes, whatever the number of threads. Memory: 8 MiB a thread and the
// header.
Result<SyntheticModelReport> WriteSyntheticModel(const SyntheticModel& model);

}  // namespace firebrick
