#include "exec/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace firebrick {
namespace {

constexpr float kMinusInfinity = -std::numeric_limits<float>::infinity();

// splitmix64's finaliser: a bijection whose output bits all depend on all input bits.
uint64_t Mix(uint64_t x) {
  x += 0x9E3779B97F4A7C15ULL;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ULL;
  x = (x ^ x >> 27) * 0x94D049BB133111EBULL;
  return x ^ x >> 31;
}

bool AllFinite(std::span<const float> values) {
  bool finite = true;
  for (const float value : values) finite &= std::fabs(value) <= std::numeric_limits<float>::max();
  return finite;
}

bool ChangesLogits(const SlotState& slot) {
  return slot.has_penalties() || !slot.sampling.logit_bias.empty() ||
         !slot.sampling.allowed_token_ids.empty() || slot.num_output_tokens() < slot.min_tokens;
}

}  // namespace

double UniformDraw(uint64_t seed, uint32_t choice, int32_t position) {
  const uint64_t key = Mix(Mix(Mix(seed) ^ choice) ^ static_cast<uint32_t>(position));
  return static_cast<double>(key >> 11) * 0x1p-53;
}

int32_t Sampler::ArgMax(std::span<const float> values) const {
  return static_cast<int32_t>(ops_->argmax(values.data(), static_cast<int64_t>(values.size())));
}

Result<Sampler::Sampled> Sampler::Sample(std::span<const float> logits, const SlotState& slot) {
  logits = logits.first(static_cast<size_t>(num_tokens_));
  if (!AllFinite(logits)) {
    return MakeError(
        StatusCode::kInternal,
        "the model gave a logit that is not finite; its weights overflow this arithmetic or are damaged");
  }
  Sampled sampled;
  const bool greedy = slot.sampling.temperature == 0.0F;
  if (greedy && !ChangesLogits(slot)) {
    sampled.token = ArgMax(logits);
  } else {
    adjusted_.assign(logits.begin(), logits.end());
    AdjustLogits(slot);
    const int32_t best = ArgMax(adjusted_);
    if (adjusted_[static_cast<size_t>(best)] == kMinusInfinity) {
      return InvalidArgument(
          "no token may be sampled: allowed_token_ids, logit_bias and min_tokens exclude all");
    }
    sampled.token = greedy ? best : Draw(slot);
  }
  if (slot.sampling.num_logprobs >= 0) {
    sampled.logprob = Logprob(logits, sampled.token, slot.sampling.num_logprobs);
  }
  return sampled;
}

void Sampler::AdjustLogits(const SlotState& slot) {
  const SamplingParams& params = slot.sampling;
  const auto in_range = [&](int32_t token) { return token >= 0 && token < num_tokens_; };
  for (const auto& [token, bias] : params.logit_bias) {
    if (in_range(token)) adjusted_[static_cast<size_t>(token)] += bias;
  }
  if (!params.allowed_token_ids.empty()) {
    std::vector<float> only(adjusted_.size(), kMinusInfinity);
    for (const int32_t token : params.allowed_token_ids) {
      if (in_range(token)) only[static_cast<size_t>(token)] = adjusted_[static_cast<size_t>(token)];
    }
    adjusted_.swap(only);
  }
  if (params.repetition_penalty != 1.0F) {
    std::vector<bool> seen(adjusted_.size(), false);
    for (const int32_t token : slot.tokens) {
      if (!in_range(token) || seen[static_cast<size_t>(token)]) continue;
      seen[static_cast<size_t>(token)] = true;
      float& logit = adjusted_[static_cast<size_t>(token)];
      logit = logit > 0 ? logit / params.repetition_penalty : logit * params.repetition_penalty;
    }
  }
  if (params.presence_penalty != 0.0F || params.frequency_penalty != 0.0F) {
    for (const auto& [token, count] : slot.output_counts) {
      if (!in_range(token)) continue;
      adjusted_[static_cast<size_t>(token)] -=
          params.presence_penalty + params.frequency_penalty * static_cast<float>(count);
    }
  }
  if (slot.num_output_tokens() < slot.min_tokens) {
    for (const int32_t token : slot.stop_token_ids) {
      if (in_range(token)) adjusted_[static_cast<size_t>(token)] = kMinusInfinity;
    }
  }
}

void Sampler::SortBest(size_t count) {
  count = std::min(count, candidates_.size());
  if (count <= num_sorted_) return;
  const auto begin = candidates_.begin();
  const auto middle = begin + static_cast<std::ptrdiff_t>(count);
  if (count < candidates_.size()) std::nth_element(begin, middle, candidates_.end(), Better);
  std::sort(begin, middle, Better);
  num_sorted_ = count;
}

void Sampler::KeepTopK(int32_t top_k) {
  if (top_k <= 0 || static_cast<size_t>(top_k) >= candidates_.size()) return;
  SortBest(static_cast<size_t>(top_k));
  candidates_.resize(static_cast<size_t>(top_k));
}

void Sampler::FillWeights(size_t count, float best, float temperature) {
  weights_.resize(count);
  for (size_t i = 0; i < count; ++i) weights_[i] = candidates_[i].logit;
  ops_->exp_shifted(weights_.data(), static_cast<int64_t>(count), best, 1.0F / temperature, weights_.data());
}

void Sampler::KeepMinP(float min_p, float best, float temperature) {
  if (min_p <= 0.0F) return;
  FillWeights(candidates_.size(), best, temperature);
  size_t kept = 0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    if (weights_[i] >= min_p) candidates_[kept++] = candidates_[i];
  }
  candidates_.resize(kept);
  num_sorted_ = std::min(num_sorted_, kept);
}

// Keeps the shortest run of best candidates whose probability reaches top_p. Sorts only as far as it must.
void Sampler::KeepTopP(float top_p, float best, float temperature) {
  if (top_p >= 1.0F) return;
  SortBest(1);
  FillWeights(candidates_.size(), best, temperature);
  double total = 0;
  for (const float weight : weights_) total += weight;
  const double wanted = total * top_p;
  double sum = 0;
  size_t kept = 0;
  for (size_t sorted = 64; kept < candidates_.size() && sum < wanted; sorted *= 8) {
    SortBest(sorted);
    FillWeights(num_sorted_, best, temperature);
    for (; kept < num_sorted_ && sum < wanted; ++kept) sum += weights_[kept];
  }
  candidates_.resize(std::max<size_t>(kept, 1));
  num_sorted_ = candidates_.size();
}

int32_t Sampler::Draw(const SlotState& slot) {
  const SamplingParams& params = slot.sampling;
  candidates_.clear();
  num_sorted_ = 0;
  for (size_t i = 0; i < adjusted_.size(); ++i) {
    if (adjusted_[i] != kMinusInfinity) candidates_.push_back({adjusted_[i], static_cast<int32_t>(i)});
  }
  const float best = adjusted_[static_cast<size_t>(ArgMax(adjusted_))];
  KeepTopK(params.top_k);
  KeepMinP(params.min_p, best, params.temperature);
  KeepTopP(params.top_p, best, params.temperature);

  // The order of the sum is fixed by the request's filters alone: id order where none cut, best first where
  // one did.
  FillWeights(candidates_.size(), best, params.temperature);
  double total = 0;
  for (const float weight : weights_) total += weight;
  double target = UniformDraw(params.seed, params.choice, slot.num_output_tokens()) * total;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    target -= weights_[i];
    if (target < 0) return candidates_[i].token;
  }
  return ArgMax(adjusted_);  // rounding of the sums left a rest
}

TokenLogprob Sampler::Logprob(std::span<const float> logits, int32_t token, int32_t num_top) {
  logits = logits.first(static_cast<size_t>(num_tokens_));
  const float best = logits[static_cast<size_t>(ArgMax(logits))];
  const auto log_total = static_cast<float>(
      LogOfSum(ops_->sum_exp(logits.data(), static_cast<int64_t>(logits.size()), best, 1.0F)));
  const auto logprob_of = [&](float logit) { return logit - best - log_total; };
  TokenLogprob result;
  result.token = token;
  result.logprob = logprob_of(logits[static_cast<size_t>(token)]);
  if (num_top > 0) {
    candidates_.clear();
    num_sorted_ = 0;
    for (size_t i = 0; i < logits.size(); ++i) candidates_.push_back({logits[i], static_cast<int32_t>(i)});
    SortBest(static_cast<size_t>(num_top));
    for (size_t i = 0; i < num_sorted_; ++i) {
      result.top.emplace_back(candidates_[i].token, logprob_of(candidates_[i].logit));
    }
  }
  return result;
}

}  // namespace firebrick
