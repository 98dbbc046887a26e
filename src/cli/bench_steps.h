// BenchSteps: drives an executor with plans of its own, as no scheduler stands between: what a bench of steps
// times. Thread: the caller's.
#pragma once

#include <cstdint>
#include <memory>

#include "base/status.h"
#include "cli/model_session.h"

namespace firebrick {

// Every stream is a slot with blocks of its own in every group.
class BenchSteps {
 public:
  // Room for num_streams streams of up to `length` tokens.
  static Result<BenchSteps> Start(const LoadedModel& loaded, int32_t num_streams, int32_t length);

  // Prefills `prompt` tokens of each stream in chunks, one stream after another; seconds for all. Opens the
  // streams.
  double Prefill(int32_t num_streams, int32_t prompt, int32_t chunk);
  // Opens streams whose context is taken as written: zeros, which take a step as long as any others.
  void OpenUnwritten(int32_t num_streams);
  // Decodes `gen` tokens of every stream together, the first at position `context`; seconds for all.
  // Positions may be taken again.
  double Decode(int32_t num_streams, int32_t context, int32_t gen);
  void CloseAll(int32_t num_streams);

  // The first failure of any step so far.
  Status error() const { return error_; }

 private:
  BenchSteps(const LoadedModel& loaded, std::unique_ptr<RankExecutor> executor, int32_t length);
  int32_t PromptToken(int32_t stream, int32_t position) const;
  void Open(int32_t stream, int32_t prompt, StepPlan* plan) const;
  void Step(StepPlan plan);

  std::unique_ptr<RankExecutor> executor_;
  int32_t num_groups_;
  int32_t blocks_per_stream_;
  int32_t vocab_size_;
  Status error_;
};

}  // namespace firebrick
