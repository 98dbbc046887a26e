// PrefillPace: how many prefill tokens a step may carry so that it stays near the target time. A control loop
// over measured steps: no model of the machine, so it follows growing contexts, batches and neighbours. Where
// decodes alone take longer than half the target, a step with prefill may take twice as long as they do:
// streams slow down by a bounded factor, and prompts still move. Thread: engine thread. Changes speed only,
// never results.
#pragma once

#include <cstdint>

namespace firebrick {

// Fewer tokens beside decodes would cost a step's weights for next to nothing.
inline constexpr int32_t kLeastPrefillTokens = 8;

class PrefillPace {
 public:
  explicit PrefillPace(double target_step_ms) : target_ns_(target_step_ms * 1e6) {}

  void Observe(int32_t num_decodes, int32_t num_prefill_tokens, int64_t execute_ns);
  // Never below kLeastPrefillTokens: a long prompt always moves on.
  int32_t MaxPrefillTokens(int32_t num_decodes) const;

 private:
  double MixedTarget() const;

  double target_ns_;             // 0 = no limit
  double decode_ns_ = 0;         // of steps with decodes only, the latest weighing most; 0: none yet
  double mixed_tokens_ = 32;     // limit beside decodes; it starts low, so that no stream waits for a guess
  double prefill_tokens_ = 512;  // limit without decodes
};

}  // namespace firebrick
