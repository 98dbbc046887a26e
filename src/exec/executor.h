// Executor: runs step plans, in order. Two implementations: RankExecutor (a model on this host) and
// FakeExecutor (a device that lives in a test, with a clock of its own). Thread: Submit and Collect are
// called by the engine thread only; the work runs elsewhere.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "base/status.h"
#include "step/step_plan.h"
#include "step/step_result.h"

namespace firebrick {

class Executor {
 public:
  virtual ~Executor() = default;

  // Steps that may be in flight at once (plans submitted, results not yet collected): the pipeline depth.
  virtual int32_t depth() const = 0;
  // Takes a plan; never blocks. The caller keeps in flight at most depth() plans.
  virtual void Submit(StepPlan plan) = 0;
  // The next result in submit order; waits until `deadline` for it. nullopt: not yet (or nothing is in
  // flight).
  virtual std::optional<StepResult> Collect(std::chrono::steady_clock::time_point deadline) = 0;
};

}  // namespace firebrick
