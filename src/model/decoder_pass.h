// DecoderPass: one forward pass of a dense decoder. Made on the stack for one call of Model::Forward.
// Thread: the executor's; it forks over the context's pool. No result depends on how the work is split.
#pragma once

#include <cstdint>
#include <vector>

#include "kernels/ops.h"
#include "model/decoder_weights.h"
#include "model/forward_buffers.h"
#include "model/forward_context.h"
#include "model/model_config.h"

namespace firebrick {

class DecoderPass {
 public:
  DecoderPass(const ModelConfig& config, const DecoderWeights& weights, const ForwardContext& context,
              ForwardBuffers& buffers);
  Status Run();
  // After Run: logits of some of the tokens that want them.
  Status Logits(IndexRange rows, float* logits);

 private:
  Status Reserve();
  void CutWork();
  void FillRopes();
  void Embed();
  Status RunLayer(int32_t layer);
  Status RunAttention(const DecoderLayer& layer, int32_t index);
  void RotateAndStore(const DecoderLayer& layer, int32_t index, LayerKvPlace place);
  void RotateSpan(const DecoderLayer& layer, int32_t index, const TokenSpan& span) const;
  void Attend(int32_t index, LayerKvPlace place);
  Status RunFeedForward(const DecoderLayer& layer);
  // branch (normed by post_norm where there is one) is added to the residual, for the rows [begin, end).
  void AddBranch(const std::vector<float>& post_norm, int64_t begin, int64_t end);
  // buffers_.input = the RMS norm of the residual of `tokens`, prepared for `reader`.
  Status PrepareNormed(const std::vector<float>& norm, const FusedLinear& reader, IndexRange tokens);
  KvHeadPages PagesOf(const BatchSequence& sequence, LayerKvPlace place, int32_t head) const;

  const ModelConfig& config_;
  const DecoderWeights& weights_;
  const ForwardContext& context_;
  const Ops& ops_;
  ThreadPool& pool_;
  ForwardBuffers& buffers_;
  const int64_t num_tokens_;
  const int64_t hidden_;
  const int64_t q_width_;
  const int64_t kv_width_;
  const int64_t qkv_width_;
  int64_t max_pairs_ = 0;
};

}  // namespace firebrick
