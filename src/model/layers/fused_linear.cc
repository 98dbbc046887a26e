#include "model/layers/fused_linear.h"

#include <algorithm>
#include <utility>

namespace firebrick {
namespace {

// Parts per thread: enough that a slow thread does not hold up the others.
constexpr int64_t kPartsPerThread = 4;
// Panels that kernels take together: parts are cut between them.
constexpr int64_t kPanelUnit = 2;

}  // namespace

void FusedLinear::Append(PackedLinear weights) {
  Segment segment;
  segment.output_begin = num_outputs_;
  segment.panel_begin = num_panels_;
  num_outputs_ += weights.num_outputs();
  num_panels_ += weights.num_panels();
  segment.weights = std::move(weights);
  segments_.push_back(std::move(segment));
}

void FusedLinear::SetBias(size_t index, std::vector<float> bias) { segments_[index].bias = std::move(bias); }

size_t FusedLinear::resident_bytes() const {
  size_t total = 0;
  for (const Segment& segment : segments_) {
    total += segment.weights.resident_bytes() + segment.bias.size() * sizeof(float);
  }
  return total;
}

ActivationNeeds FusedLinear::Needs(const Ops& ops) const {
  ActivationNeeds needs;
  for (const Segment& segment : segments_) needs = needs | NeedsOf(ops, segment.weights);
  return needs;
}

void FusedLinear::RunPanels(const Ops& ops, const Activation& x, IndexRange rows, IndexRange panels, float* y,
                            int64_t ldy) const {
  for (const Segment& segment : segments_) {
    const IndexRange own{std::max(panels.begin - segment.panel_begin, int64_t{0}),
                         std::min(panels.end - segment.panel_begin, segment.weights.num_panels())};
    if (own.begin >= own.end) continue;
    Linear(ops, segment.weights, x, rows, own, segment.bias.empty() ? nullptr : segment.bias.data(),
           y + segment.output_begin, ldy);
  }
}

void FusedLinear::Run(const Ops& ops, ThreadPool& pool, const Activation& x, float* y, int64_t ldy) const {
  const int64_t units = (num_panels_ + kPanelUnit - 1) / kPanelUnit;
  const int64_t parts = std::min(units, int64_t{pool.num_threads()} * kPartsPerThread);
  pool.ParallelForChunks(parts, 1, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t part = begin; part < end; ++part) {
      const IndexRange own = SplitRange(units, parts, part);
      RunPanels(ops, x, {0, x.num_rows()},
                {own.begin * kPanelUnit, std::min(own.end * kPanelUnit, num_panels_)}, y, ldy);
    }
  });
}

}  // namespace firebrick
