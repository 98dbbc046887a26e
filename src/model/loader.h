// Loading: fills DecoderWeights from a checkpoint, packing panel by panel in parallel, and drops the file's
// pages as they are packed. Thread: the calling thread and the pool's.
#pragma once

#include "base/checksum.h"
#include "base/status.h"
#include "model/decoder_weights.h"
#include "model/model.h"

namespace firebrick {

struct LoadedDecoder {
  DecoderWeights weights;
  Digest256 digest{};  // see Model::weight_digest
};

Result<LoadedDecoder> LoadDecoder(const Checkpoint& checkpoint, const ModelConfig& config,
                                  const LoadOptions& options);

}  // namespace firebrick
