// Tensor names of dense decoders in both file formats. Source: ../shared/reference/models-and-formats.md
// sections 1.2 and 3.9. Thread: const after construction.
#pragma once

#include <cstdint>
#include <string>

#include "model/weight_table.h"
#include "weights/checkpoint.h"

namespace firebrick {

class DecoderNames {
 public:
  // Looks into the checkpoint for the prefix that multimodal wrappers put before the language model.
  // sandwich_norms: the family has norms after attention too, which changes what the second norm is called.
  DecoderNames(const Checkpoint& checkpoint, bool sandwich_norms);

  std::string Of(WeightRole role, int32_t layer) const;

 private:
  CheckpointKind kind_;
  bool sandwich_norms_;
  std::string body_;    // "model." or with a wrapper's prefix
  std::string output_;  // full name of the output matrix
};

}  // namespace firebrick
