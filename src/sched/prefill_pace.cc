#include "sched/prefill_pace.h"

#include <algorithm>
#include <limits>

namespace firebrick {

namespace {

// A prefill with no decodes beside it stutters no stream; it is still cut, so that a cancellation or a new
// short request does not wait for many seconds. Larger pieces gain nothing: a matmul is compute-bound from a
// few hundred rows on.
constexpr double kPrefillOnlyFactor = 8.0;
constexpr double kMixedFactor = 2.0;       // of the time of decodes alone
constexpr double kDecodeSmoothing = 0.25;  // weight of the latest step
constexpr double kLeastFactor = 0.5;       // of one step's correction
constexpr double kMostFactor = 1.5;
constexpr double kMostTokens = 1 << 20;

}  // namespace

double PrefillPace::MixedTarget() const { return std::max(target_ns_, kMixedFactor * decode_ns_); }

void PrefillPace::Observe(int32_t num_decodes, int32_t num_prefill_tokens, int64_t execute_ns) {
  if (target_ns_ <= 0 || execute_ns <= 0) return;
  if (num_prefill_tokens == 0) {
    const auto took = static_cast<double>(execute_ns);
    decode_ns_ = decode_ns_ == 0 ? took : decode_ns_ + kDecodeSmoothing * (took - decode_ns_);
    return;
  }
  double& limit = num_decodes > 0 ? mixed_tokens_ : prefill_tokens_;
  const double target = num_decodes > 0 ? MixedTarget() : target_ns_ * kPrefillOnlyFactor;
  const double factor = std::clamp(target / static_cast<double>(execute_ns), kLeastFactor, kMostFactor);
  const double better = num_prefill_tokens * factor;
  // A step that was too long lowers the limit; one that was short raises it only where the limit cut it.
  limit = factor < 1.0 ? std::min(limit, better) : std::max(limit, better);
  limit = std::clamp(limit, static_cast<double>(kLeastPrefillTokens), kMostTokens);
}

int32_t PrefillPace::MaxPrefillTokens(int32_t num_decodes) const {
  if (target_ns_ <= 0) return std::numeric_limits<int32_t>::max();
  return static_cast<int32_t>(num_decodes > 0 ? mixed_tokens_ : prefill_tokens_);
}

}  // namespace firebrick
