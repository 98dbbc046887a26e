// Sampler: logits of one position to the next token. Each row is computed alone, from its own request's
// numbers, so that neither the batch nor the thread count changes a token. Thread: one Sampler per thread (it
// owns scratch); rows of a step are spread over the pool.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "api/delta.h"
#include "base/status.h"
#include "exec/slot_state.h"
#include "kernels/ops.h"

namespace firebrick {

// Uniform in [0, 1), a pure function of its key: the draw at output position `position` of a choice.
double UniformDraw(uint64_t seed, uint32_t choice, int32_t position);

class Sampler {
 public:
  // num_tokens: ids below it may be sampled; a model's logits may be wider (padding of its vocabulary).
  Sampler(const Ops& ops, int32_t num_tokens) : ops_(&ops), num_tokens_(num_tokens) {}

  struct Sampled {
    int32_t token = -1;
    TokenLogprob logprob;  // filled where the request wants logprobs
  };
  // logits: [>= num_tokens], left unchanged. kInternal where a logit is not finite.
  Result<Sampled> Sample(std::span<const float> logits, const SlotState& slot);

  // Log-probability of `token` and the `num_top` best tokens under the unfiltered distribution.
  TokenLogprob Logprob(std::span<const float> logits, int32_t token, int32_t num_top);

 private:
  struct Candidate {
    float logit;
    int32_t token;
  };
  void AdjustLogits(const SlotState& slot);
  int32_t Draw(const SlotState& slot);
  // Orders by logit, largest first; equal logits by id, lowest first.
  static bool Better(const Candidate& a, const Candidate& b) {
    return a.logit > b.logit || (a.logit == b.logit && a.token < b.token);
  }
  // The best `count` of `candidates_`, sorted, at its front.
  void SortBest(size_t count);
  void KeepTopK(int32_t top_k);
  void KeepMinP(float min_p, float best, float temperature);
  void KeepTopP(float top_p, float best, float temperature);
  // weights_[i] = exp((logit of candidate i - best) / temperature) for the first `count`.
  void FillWeights(size_t count, float best, float temperature);
  int32_t ArgMax(std::span<const float> values) const;

  const Ops* ops_;
  int32_t num_tokens_;
  std::vector<float> adjusted_;  // [num_tokens]
  std::vector<Candidate> candidates_;
  size_t num_sorted_ = 0;  // leading candidates that are the best, in order
  std::vector<float> weights_;
};

}  // namespace firebrick
