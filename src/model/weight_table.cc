#include "model/weight_table.h"

#include <algorithm>
#include <unordered_set>

#include "model/arch/architecture.h"
#include "model/arch/decoder_names.h"

namespace firebrick {
namespace {

std::string ShapeText(const std::vector<int64_t>& shape) {
  return fmt::format("[{}]", fmt::join(shape, ", "));
}

class TableBuilder {
 public:
  TableBuilder(const Checkpoint& checkpoint, const ModelConfig& config, const Architecture& architecture)
      : checkpoint_(checkpoint),
        config_(config),
        architecture_(architecture),
        names_(checkpoint, config.sandwich_norms) {}

  Result<std::vector<WeightSlot>> Build() {
    const int64_t hidden = config_.hidden_size;
    const int64_t vocab = config_.vocab_size;
    Add(WeightRole::kEmbedding, -1, {vocab, hidden});
    if (HasRopeDivisors()) Add(WeightRole::kRopeDivisors, -1, {config_.ropes.at(0).rotary_dim / 2});
    for (int32_t layer = 0; layer < config_.num_layers; ++layer) AddLayer(layer);
    Add(WeightRole::kFinalNorm, -1, {hidden});
    if (!config_.tied_embeddings) Add(WeightRole::kOutput, -1, {vocab, hidden});
    RETURN_IF_ERROR(status_);
    RETURN_IF_ERROR(RefuseSurplus());
    return std::move(slots_);
  }

 private:
  bool HasRopeDivisors() const {
    return checkpoint_.kind() == CheckpointKind::kGguf &&
           checkpoint_.FindTensor(names_.Of(WeightRole::kRopeDivisors, -1)) != nullptr;
  }

  void AddLayer(int32_t layer) {
    const int64_t hidden = config_.hidden_size;
    const int64_t q_rows = int64_t{config_.num_heads} * config_.head_dim;
    const int64_t kv_rows = int64_t{config_.num_kv_heads} * config_.head_dim;
    const int64_t ffn = config_.ffn_size;
    Add(WeightRole::kAttentionNorm, layer, {hidden});
    Add(WeightRole::kQuery, layer, {q_rows, hidden});
    Add(WeightRole::kKey, layer, {kv_rows, hidden});
    Add(WeightRole::kValue, layer, {kv_rows, hidden});
    if (config_.qkv_bias) {
      Add(WeightRole::kQueryBias, layer, {q_rows});
      Add(WeightRole::kKeyBias, layer, {kv_rows});
      Add(WeightRole::kValueBias, layer, {kv_rows});
    }
    if (config_.qk_norm) {
      Add(WeightRole::kQueryNorm, layer, {config_.head_dim});
      Add(WeightRole::kKeyNorm, layer, {config_.head_dim});
    }
    Add(WeightRole::kAttentionOutput, layer, {hidden, q_rows});
    if (config_.output_bias) Add(WeightRole::kAttentionOutputBias, layer, {hidden});
    if (config_.sandwich_norms) Add(WeightRole::kPostAttentionNorm, layer, {hidden});
    Add(WeightRole::kFfnNorm, layer, {hidden});
    Add(WeightRole::kGate, layer, {ffn, hidden});
    Add(WeightRole::kUp, layer, {ffn, hidden});
    if (config_.mlp_bias) {
      Add(WeightRole::kGateBias, layer, {ffn});
      Add(WeightRole::kUpBias, layer, {ffn});
    }
    Add(WeightRole::kDown, layer, {hidden, ffn});
    if (config_.mlp_bias) Add(WeightRole::kDownBias, layer, {hidden});
    if (config_.sandwich_norms) Add(WeightRole::kPostFfnNorm, layer, {hidden});
  }

  void Add(WeightRole role, int32_t layer, const std::vector<int64_t>& shape) {
    if (!status_.ok()) return;
    const std::string name = names_.Of(role, layer);
    const RawTensor* tensor = checkpoint_.FindTensor(name);
    if (tensor == nullptr) {
      status_ = InvalidArgument(
          "{}: tensor '{}' of shape {} is missing; the model is incomplete or its configuration belongs to "
          "another one, fetch all its files again",
          checkpoint_.path(), name, ShapeText(shape));
      return;
    }
    if (tensor->shape != shape) {
      status_ = InvalidArgument(
          "{}: tensor '{}' has shape {}, but the configuration asks for {}; weights and configuration do not "
          "belong together, fetch the model again",
          checkpoint_.path(), name, ShapeText(tensor->shape), ShapeText(shape));
      return;
    }
    const bool rotated = role == WeightRole::kQuery || role == WeightRole::kKey ||
                         role == WeightRole::kQueryBias || role == WeightRole::kKeyBias;
    const bool permuted = architecture_.gguf_permutes_qk && checkpoint_.kind() == CheckpointKind::kGguf;
    slots_.push_back({role, layer, tensor, rotated && permuted});
    claimed_.insert(tensor);
  }

  bool Ignored(const RawTensor& tensor) const {
    if (checkpoint_.kind() == CheckpointKind::kGguf) return false;
    // Older transformers stored the table of rope frequencies, and the tied matrix twice.
    if (tensor.name.ends_with("rotary_emb.inv_freq")) return true;
    if (config_.tied_embeddings && tensor.name == names_.Of(WeightRole::kOutput, -1)) return true;
    const auto& prefixes = architecture_.hf_ignored_prefixes;
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](std::string_view prefix) { return tensor.name.starts_with(prefix); });
  }

  Status RefuseSurplus() const {
    for (const RawTensor& tensor : checkpoint_.tensors()) {
      if (claimed_.contains(&tensor) || Ignored(tensor)) continue;
      return InvalidArgument(
          "{}: tensor '{}' of shape {} has no place in a {} model of {} layers; the file is of a variant "
          "that "
          "this engine does not know, or the configuration belongs to another model",
          checkpoint_.path(), tensor.name, ShapeText(tensor.shape), config_.architecture, config_.num_layers);
    }
    return OkStatus();
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const Architecture& architecture_;
  const DecoderNames names_;
  std::vector<WeightSlot> slots_;
  std::unordered_set<const RawTensor*> claimed_;
  Status status_;
};

}  // namespace

Result<std::vector<WeightSlot>> BuildWeightTable(const Checkpoint& checkpoint, const ModelConfig& config) {
  for (const Architecture* architecture : Architectures()) {
    if (architecture->name == config.architecture) {
      return TableBuilder(checkpoint, config, *architecture).Build();
    }
  }
  return Unimplemented("architecture '{}' is not supported", config.architecture);
}

}  // namespace firebrick
