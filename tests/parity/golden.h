// Golden cases: what tools/make_logit_goldens.py wrote, and checkpoints of the same weights in both file
// formats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "device/thread_pool.h"
#include "model/direct_run.h"
#include "model/model.h"
#include "tensor/weight_type.h"

namespace firebrick {

struct GoldenTensor {
  std::string name;  // of Hugging Face
  std::vector<int64_t> shape;
};

struct Golden {
  std::string name;
  Json config;
  std::vector<GoldenTensor> tensors;
  std::vector<int32_t> ids;
  std::vector<int32_t> positions;
  std::vector<float> logits;  // [positions][vocab]
};

std::vector<std::string> GoldenNames();
Golden ReadGolden(const std::string& name);

// The weights of a tensor: the hash of tools/make_logit_goldens.py.
std::vector<float> MakeWeight(const GoldenTensor& tensor);

// A folder that is removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Writes the case as a safetensors folder (types f32, f16, bf16) or as a GGUF file; the path to open.
// Matrices take `type` where it divides their columns, vectors are F32.
std::string WriteSafetensors(const Golden& golden, WeightType type, const std::string& folder);
std::string WriteGguf(const Golden& golden, WeightType type, const std::string& folder);

// Logits of all positions of the first list; [position][vocab].
using LogitRows = std::vector<std::vector<float>>;

struct LoadedModel {
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Model> model;
};
LoadedModel LoadModel(const std::string& path, const Ops& ops, int32_t num_threads);
// Fails the test where the run fails.
LogitRows RunFirst(const LoadedModel& loaded, const Ops& ops, const std::vector<DirectList>& lists,
                   int32_t chunk, KvDType kv_dtype);

}  // namespace firebrick
