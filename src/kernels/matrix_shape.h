// The shape and format of a weight matrix, without its weights. A value; thread: any.
#pragma once

#include <cstdint>

#include "tensor/canonical.h"

namespace firebrick {

struct MatrixShape {
  CanonicalFormat format;
  int64_t num_outputs = 0;
  int64_t num_cols = 0;
  friend bool operator==(const MatrixShape&, const MatrixShape&) = default;
};

}  // namespace firebrick
