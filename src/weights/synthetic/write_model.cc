#include "weights/synthetic/write_model.h"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "base/file.h"
#include "base/json.h"
#include "weights/file_writer.h"
#include "weights/quantize.h"
#include "weights/synthetic/normal.h"
#include "weights/synthetic/tokenizer.h"
#include "weights/tensor_size.h"

namespace firebrick {
namespace {

constexpr int64_t kChunkElements = 1 << 20;
constexpr float kStddev = 0.02F;

// Some rows of one tensor: the unit of work.
struct Chunk {
  size_t tensor;
  int64_t row_begin;
  int64_t num_rows;
};

std::vector<Chunk> CutIntoChunks(const std::vector<SyntheticTensor>& tensors) {
  std::vector<Chunk> chunks;
  for (size_t i = 0; i < tensors.size(); ++i) {
    const int64_t rows = tensors[i].spec.rows();
    const int64_t step = std::max<int64_t>(1, kChunkElements / tensors[i].spec.cols());
    for (int64_t begin = 0; begin < rows; begin += step)
      chunks.push_back({i, begin, std::min(step, rows - begin)});
  }
  return chunks;
}

// Fills and writes chunks until none is left or one fails.
class Production {
 public:
  Production(const SyntheticModel& model, const std::vector<SyntheticTensor>& tensors,
             const FileLayout& layout, const FileWriter& writer)
      : model_(model), tensors_(tensors), layout_(layout), writer_(writer), chunks_(CutIntoChunks(tensors)) {
    for (const SyntheticTensor& tensor : tensors)
      total_bytes_ += *CountBytes(tensor.spec.type, tensor.spec.shape);
  }

  Status Run() {
    std::vector<std::thread> threads;
    for (int i = 1; i < model_.num_threads; ++i) threads.emplace_back([this] { Work(); });
    Work();
    for (std::thread& thread : threads) thread.join();
    return status_;
  }

 private:
  void Work() {
    std::vector<float> values;
    std::vector<std::byte> bytes;
    while (!failed_.load(std::memory_order_relaxed)) {
      const size_t index = next_.fetch_add(1, std::memory_order_relaxed);
      if (index >= chunks_.size()) return;
      const Status status = WriteChunk(chunks_[index], &values, &bytes);
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!status.ok()) {
        if (status_.ok()) status_ = status;
        failed_ = true;
        return;
      }
      done_bytes_ += bytes.size();
      if (model_.progress) model_.progress(done_bytes_, total_bytes_);
    }
  }

  Status WriteChunk(const Chunk& chunk, std::vector<float>* values, std::vector<std::byte>* bytes) const {
    const SyntheticTensor& tensor = tensors_[chunk.tensor];
    const WeightTypeInfo& info = InfoOf(tensor.spec.type);
    const int64_t cols = tensor.spec.cols();
    values->resize(static_cast<size_t>(chunk.num_rows * cols));
    if (tensor.fill == TensorFill::kNormal) {
      FillNormal(NormalStreamKey(model_.seed, tensor.spec.name),
                 static_cast<uint64_t>(chunk.row_begin * cols), kStddev, *values);
    } else {
      std::fill(values->begin(), values->end(), tensor.fill == TensorFill::kOnes ? 1.0F : 0.0F);
    }
    const uint64_t row_bytes = static_cast<uint64_t>(cols) / info.block_elements * info.block_bytes;
    bytes->resize(static_cast<size_t>(chunk.num_rows) * row_bytes);
    QuantizeRows(tensor.spec.type, values->data(), cols, chunk.num_rows, bytes->data());
    return writer_.WriteAt(layout_.offsets[chunk.tensor] + static_cast<uint64_t>(chunk.row_begin) * row_bytes,
                           *bytes);
  }

  const SyntheticModel& model_;
  const std::vector<SyntheticTensor>& tensors_;
  const FileLayout& layout_;
  const FileWriter& writer_;
  const std::vector<Chunk> chunks_;
  uint64_t total_bytes_ = 0;
  std::atomic<size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;  // guards the two below, and calls of progress
  uint64_t done_bytes_ = 0;
  Status status_;
};

std::vector<std::string> DescribeFallbacks(const std::vector<SyntheticTensor>& tensors, WeightType wanted) {
  std::map<std::pair<std::string_view, int64_t>, int> counts;
  for (const SyntheticTensor& tensor : tensors) {
    const bool matrix = tensor.spec.shape.size() > 1;
    if (matrix && tensor.spec.type != wanted) ++counts[{InfoOf(tensor.spec.type).name, tensor.spec.cols()}];
  }
  std::vector<std::string> lines;
  for (const auto& [key, count] : counts) {
    lines.push_back(fmt::format("{} for {} tensors: their rows of {} columns are no multiple of {}",
                                key.first, count, key.second, InfoOf(wanted).block_elements));
  }
  return lines;
}

Status WriteFolderFiles(const SyntheticModel& model, const TokenizerFiles& tokenizer) {
  const auto write = [&](const char* name, const std::string& text) {
    return text.empty() ? OkStatus() : WriteFileAtomically(model.path + "/" + name, text);
  };
  const Json config = HfConfigOf(*model.shape, model.type, tokenizer.bos_id, tokenizer.eos_id);
  const Json generation = {{"bos_token_id", tokenizer.bos_id}, {"eos_token_id", tokenizer.eos_id}};
  RETURN_IF_ERROR(write("config.json", config.dump(2) + "\n"));
  RETURN_IF_ERROR(write("generation_config.json", generation.dump(2) + "\n"));
  RETURN_IF_ERROR(write("tokenizer.json", tokenizer.tokenizer_json));
  RETURN_IF_ERROR(write("tokenizer_config.json", tokenizer.tokenizer_config_json));
  return write("chat_template.jinja", tokenizer.chat_template_jinja);
}

}  // namespace

Result<SyntheticModelReport> WriteSyntheticModel(const SyntheticModel& model) {
  CHECK(model.shape != nullptr && model.num_threads >= 1);
  const ModelShape& shape = *model.shape;
  const bool gguf = model.kind == CheckpointKind::kGguf;
  TokenizerFiles tokenizer;
  if (model.tokenizer.empty()) {
    tokenizer = MakeSyntheticTokenizer(shape.vocab);
  } else {
    ASSIGN_OR_RETURN(tokenizer, CopyTokenizer(model.tokenizer, shape.vocab));
  }
  const std::vector<SyntheticTensor> tensors = TensorsOf(shape, model.kind, model.type);
  std::vector<TensorSpec> specs;
  SyntheticModelReport report;
  for (const SyntheticTensor& tensor : tensors) {
    specs.push_back(tensor.spec);
    report.num_parameters += static_cast<uint64_t>(tensor.spec.rows() * tensor.spec.cols());
  }
  FileLayout layout;
  if (gguf) {
    GgufMetadata metadata = GgufMetadataOf(shape, model.type);
    std::move(tokenizer.gguf.begin(), tokenizer.gguf.end(), std::back_inserter(metadata));
    ASSIGN_OR_RETURN(layout, LayOutGguf(metadata, specs));
  } else {
    ASSIGN_OR_RETURN(layout, LayOutSafetensors(specs));
    std::error_code error;
    std::filesystem::create_directories(model.path, error);
    if (error)
      return MakeError(StatusCode::kUnavailable, "cannot create folder {}: {}", model.path, error.message());
    RETURN_IF_ERROR(WriteFolderFiles(model, tokenizer));
  }
  report.weights_path = gguf ? model.path : model.path + "/model.safetensors";
  report.file_bytes = layout.file_bytes;
  report.num_tensors = tensors.size();
  report.fallbacks = DescribeFallbacks(tensors, model.type);
  ASSIGN_OR_RETURN(FileWriter writer, FileWriter::Create(report.weights_path, layout));
  RETURN_IF_ERROR(Production(model, tensors, layout, writer).Run());
  RETURN_IF_ERROR(writer.Finish());
  return report;
}

}  // namespace firebrick
