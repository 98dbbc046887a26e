#include "model/model.h"

#include <utility>

#include "model/decoder_pass.h"
#include "model/loader.h"

namespace firebrick {

ForwardScratch::ForwardScratch() : buffers_(std::make_unique<ForwardBuffers>()) {}
ForwardScratch::~ForwardScratch() = default;
ForwardScratch::ForwardScratch(ForwardScratch&&) noexcept = default;
ForwardScratch& ForwardScratch::operator=(ForwardScratch&&) noexcept = default;

struct Model::State {
  ModelConfig config;
  DecoderWeights weights;
  Digest256 digest{};
  std::vector<MatrixShape> shapes;
  size_t resident_bytes = 0;
};

Model::Model(std::unique_ptr<State> state) : state_(std::move(state)) {}
Model::~Model() = default;

Result<std::unique_ptr<Model>> Model::Load(const Checkpoint& checkpoint, const LoadOptions& options) {
  auto state = std::make_unique<State>();
  ASSIGN_OR_RETURN(state->config, ParseModelConfig(checkpoint));
  ASSIGN_OR_RETURN(LoadedDecoder loaded, LoadDecoder(checkpoint, state->config, options));
  state->weights = std::move(loaded.weights);
  state->digest = loaded.digest;
  state->shapes = std::move(loaded.shapes);
  DecoderWeights& weights = state->weights;
  if (state->config.tied_embeddings) weights.embedding = EmbeddingTable(&weights.output.weights(0));
  state->resident_bytes = weights.embedding.resident_bytes() + weights.output.resident_bytes();
  for (const DecoderLayer& layer : weights.layers) {
    for (const FusedLinear* linear : {&layer.qkv, &layer.attention_output, &layer.gate_up, &layer.down}) {
      state->resident_bytes += linear->resident_bytes();
    }
  }
  const std::vector<KvGroupSpec> groups = CutLayerGroups(state->config.layer_windows);
  for (size_t group = 0; group < groups.size(); ++group) {
    for (size_t i = 0; i < groups[group].layers.size(); ++i) {
      weights.layers[static_cast<size_t>(groups[group].layers[i])].kv_place = {static_cast<int32_t>(group),
                                                                               static_cast<int32_t>(i)};
    }
  }
  return std::unique_ptr<Model>(new Model(std::move(state)));
}

const ModelConfig& Model::config() const { return state_->config; }
const Digest256& Model::weight_digest() const { return state_->digest; }
size_t Model::resident_bytes() const { return state_->resident_bytes; }
const std::vector<MatrixShape>& Model::matrix_shapes() const { return state_->shapes; }
size_t Model::step_bytes() const {
  return state_->resident_bytes - state_->weights.embedding.resident_bytes();
}

KvGeometry Model::MakeKvGeometry(KvDType dtype) const {
  const ModelConfig& config = state_->config;
  return {dtype, config.num_kv_heads, config.head_dim, CutLayerGroups(config.layer_windows)};
}

Status Model::Forward(const ForwardContext& context) const {
  const InputBatch& batch = context.batch;
  CHECK(batch.positions.size() == batch.token_ids.size());
  CHECK(batch.block_tables.size() == batch.sequences.size() * context.kv_geometry.groups.size());
  if (batch.token_ids.empty()) return OkStatus();
  return DecoderPass(state_->config, state_->weights, context, *context.scratch.buffers_).Run();
}

Status Model::Logits(const ForwardContext& context, IndexRange rows, float* logits) const {
  if (rows.size() == 0) return OkStatus();
  return DecoderPass(state_->config, state_->weights, context, *context.scratch.buffers_)
      .Logits(rows, logits);
}

}  // namespace firebrick
