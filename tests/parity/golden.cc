#include "golden.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>
#include <unistd.h>

#include "base/file.h"
#include "base/json.h"

namespace firebrick {
namespace {

std::string DataFolder() { return std::string(FIREBRICK_SOURCE_DIR) + "/tests/parity/data/"; }

uint64_t Fnv1a64(const std::string& text) {
  uint64_t value = 0xCBF29CE484222325;
  for (const char c : text) value = (value ^ static_cast<uint8_t>(c)) * 0x100000001B3;
  return value;
}

}  // namespace

std::vector<std::string> GoldenNames() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(DataFolder())) {
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

Golden ReadGolden(const std::string& name) {
  Golden golden;
  golden.name = name;
  const Result<std::string> text = ReadFile(DataFolder() + name + ".json", 1 << 20);
  const Json json = ParseJson(text.value()).value();
  golden.config = json.at("config");
  for (const Json& tensor : json.at("tensors")) {
    golden.tensors.push_back({tensor.at(0).get<std::string>(), tensor.at(1).get<std::vector<int64_t>>()});
  }
  golden.ids = json.at("ids").get<std::vector<int32_t>>();
  golden.positions = json.at("positions").get<std::vector<int32_t>>();
  const Result<std::string> bytes = ReadFile(DataFolder() + name + ".f32", 1 << 20);
  golden.logits.resize(bytes.value().size() / sizeof(float));
  std::memcpy(golden.logits.data(), bytes.value().data(), golden.logits.size() * sizeof(float));
  return golden;
}

std::vector<float> MakeWeight(const GoldenTensor& tensor) {
  size_t count = 1;
  for (const int64_t dim : tensor.shape) count *= static_cast<size_t>(dim);
  const bool embeds =
      tensor.name.find("embed") != std::string::npos || tensor.name.find("lm_head") != std::string::npos;
  const float offset = tensor.name.ends_with(".bias") ? 0.0F : 1.0F;
  const uint64_t seed = Fnv1a64(tensor.name);
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9;
    z = (z ^ z >> 27) * 0x94D049BB133111EB;
    z ^= z >> 31;
    const int32_t integer = static_cast<int32_t>(z >> 56) - 128;
    const int32_t quarter = integer / 4;
    if (tensor.shape.size() == 1) {
      values[i] = static_cast<float>(quarter) / 64.0F + offset;
    } else {
      values[i] = static_cast<float>(integer) / (embeds ? 256.0F : 512.0F);
    }
  }
  return values;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "firebrick-parity-XXXXXX").string();
  path_ = ::mkdtemp(name.data()) != nullptr ? name : "";
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code error;
  if (!path_.empty()) std::filesystem::remove_all(path_, error);
}

LoadedModel LoadModel(const std::string& path, const Ops& ops, int32_t num_threads) {
  LoadedModel loaded;
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  loaded.pool = std::make_unique<ThreadPool>(options);
  const Result<Checkpoint> checkpoint = Checkpoint::Open(path);
  EXPECT_TRUE(checkpoint.ok()) << checkpoint.status().ToString();
  if (!checkpoint.ok()) return loaded;
  Result<std::unique_ptr<Model>> model = Model::Load(*checkpoint, {ops, *loaded.pool});
  EXPECT_TRUE(model.ok()) << model.status().ToString();
  if (model.ok()) loaded.model = std::move(*model);
  return loaded;
}

LogitRows RunFirst(const LoadedModel& loaded, const Ops& ops, const std::vector<DirectList>& lists,
                   int32_t chunk, KvDType kv_dtype) {
  LogitRows rows;
  if (loaded.model == nullptr) return rows;
  const auto sink = [&](size_t list, int32_t, std::span<const float> logits) {
    if (list == 0) rows.emplace_back(logits.begin(), logits.end());
  };
  const Status status = RunDirect(*loaded.model, ops, *loaded.pool, lists, {chunk, kv_dtype}, sink);
  EXPECT_TRUE(status.ok()) << status.ToString();
  return rows;
}

}  // namespace firebrick
