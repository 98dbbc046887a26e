// FusedLinear: matrices that read one input (q, k and v; gate and up), each packed in its own format, their
// outputs side by side in one row. They share one prepared activation.
// Thread: const after load; Run splits its work over the pool.
#pragma once

#include <cstdint>
#include <vector>

#include "device/thread_pool.h"
#include "kernels/ops.h"

namespace firebrick {

class FusedLinear {
 public:
  struct Segment {
    PackedLinear weights;
    std::vector<float> bias;  // [num_outputs]; empty where the model has none
    int64_t output_begin = 0;
    int64_t panel_begin = 0;
  };

  // Appends a matrix; its outputs follow those already there.
  void Append(PackedLinear weights);
  // The bias of segment number `index`.
  void SetBias(size_t index, std::vector<float> bias);

  bool empty() const { return segments_.empty(); }
  int64_t num_outputs() const { return num_outputs_; }
  int64_t num_cols() const { return segments_.empty() ? 0 : segments_[0].weights.num_cols(); }
  PackedLinear& weights(size_t index) { return segments_[index].weights; }
  const PackedLinear& weights(size_t index) const { return segments_[index].weights; }
  size_t resident_bytes() const;
  ActivationNeeds Needs(const Ops& ops) const;

  // y[r] = x[r] W^T + bias for all rows of x; y: [x.num_rows()][ldy], ldy >= num_outputs().
  void Run(const Ops& ops, ThreadPool& pool, const Activation& x, float* y, int64_t ldy) const;

 private:
  void RunPanels(const Ops& ops, const Activation& x, IndexRange rows, IndexRange panels, float* y,
                 int64_t ldy) const;
  std::vector<Segment> segments_;
  int64_t num_outputs_ = 0;
  int64_t num_panels_ = 0;
};

}  // namespace firebrick
