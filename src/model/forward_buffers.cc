#include "model/forward_buffers.h"

#include <algorithm>
#include <utility>

namespace firebrick {

Status ScratchArray::Reserve(int64_t num_floats) {
  const size_t bytes = static_cast<size_t>(std::max(num_floats, int64_t{1})) * sizeof(float);
  if (bytes <= buffer_.size()) return OkStatus();
  buffer_ = AlignedBuffer();  // free before the larger one is taken
  ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(MemoryAccount::kActivations, bytes));
  return OkStatus();
}

}  // namespace firebrick
