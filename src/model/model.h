// Model: the weights of one checkpoint, packed, and the forward pass over them.
// Thread: const after Load; Forward may be called by one thread at a time per ForwardScratch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/checksum.h"
#include "base/status.h"
#include "device/thread_pool.h"
#include "kernels/kv_view.h"
#include "kernels/matrix_shape.h"
#include "model/forward_context.h"
#include "model/model_config.h"
#include "weights/checkpoint.h"

namespace firebrick {

// Called on the loading thread after each piece; done_bytes of total_bytes file bytes are packed.
using LoadProgress = std::function<void(uint64_t done_bytes, uint64_t total_bytes)>;

struct LoadOptions {
  const Ops& ops;    // decides how weights are packed
  ThreadPool& pool;  // packs in parallel
  LoadProgress progress = {};
  // Every matrix is packed as FP32, whatever its file type: the reference that a quantised run is measured
  // against (`firebrick logits --kl`).
  bool expand_to_f32 = false;
};

struct ForwardBuffers;

// Intermediate values of a forward pass; grows to the largest batch seen and is then reused.
class ForwardScratch {
 public:
  ForwardScratch();
  ~ForwardScratch();
  ForwardScratch(ForwardScratch&&) noexcept;
  ForwardScratch& operator=(ForwardScratch&&) noexcept;

 private:
  friend class Model;
  std::unique_ptr<ForwardBuffers> buffers_;
};

class Model {
 public:
  // Packs every tensor that the architecture asks for. A missing, surplus or mis-shaped tensor is refused
  // with its name, its shape and the remedy. File pages are dropped as they are packed.
  static Result<std::unique_ptr<Model>> Load(const Checkpoint& checkpoint, const LoadOptions& options);
  ~Model();

  const ModelConfig& config() const;
  KvGeometry MakeKvGeometry(KvDType dtype) const;
  // Identity of the weights: SHA-256 over names, types, shapes and bytes' checksums of all tensors, and the
  // facts of the configuration that alter the numbers.
  const Digest256& weight_digest() const;
  size_t resident_bytes() const;
  // The different shapes of its matrices.
  const std::vector<MatrixShape>& matrix_shapes() const;
  // Packed weights that every step reads whole: all but an embedding table, of which it reads single rows.
  size_t step_bytes() const;

  // Writes the keys and values of the batch's tokens into their pages and keeps their hidden states in
  // context.scratch, for Logits. A row's result does not depend on the other rows of the batch. Fails only
  // where memory for the scratch runs out (kResourceExhausted); then nothing has been computed.
  Status Forward(const ForwardContext& context) const;
  // After Forward of the same context: the logits of batch.logit_tokens[rows.begin, rows.end), so that a
  // caller who wants many rows holds few. logits: [rows.size()][vocab_size].
  Status Logits(const ForwardContext& context, IndexRange rows, float* logits) const;

 private:
  struct State;
  explicit Model(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace firebrick
