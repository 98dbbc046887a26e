// Loading: fills DecoderWeights from a checkpoint, packing panel by panel in parallel, and drops the file's
// pages as they are packed. Thread: the calling thread and the pool's.
#pragma once

#include <vector>

#include "base/checksum.h"
#include "base/status.h"
#include "kernels/matrix_shape.h"
#include "model/decoder_weights.h"
#include "model/model.h"

namespace firebrick {

struct LoadedDecoder {
  DecoderWeights weights;
  Digest256 digest{};               // see Model::weight_digest
  std::vector<MatrixShape> shapes;  // see Model::matrix_shapes
};

Result<LoadedDecoder> LoadDecoder(const Checkpoint& checkpoint, const ModelConfig& config,
                                  const LoadOptions& options);

}  // namespace firebrick
