// ReadAhead: a thread that asks the kernel for the tensors of a load before they are packed, so that a cold
// start is bound by the disk, and no more than a window before, so that it never fills the memory with what
// is not needed yet. Where the pages are cached already it costs next to nothing.
// Thread: made and ended by the loading thread; Advance may be called by any.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "weights/checkpoint.h"

namespace firebrick {

class ReadAhead {
 public:
  // Tensors in the order in which they will be packed. The checkpoint and its tensors outlive this object.
  ReadAhead(const Checkpoint& checkpoint, std::vector<const RawTensor*> tensors);
  ~ReadAhead();  // stops early where the load failed
  ReadAhead(const ReadAhead&) = delete;
  ReadAhead& operator=(const ReadAhead&) = delete;

  // `bytes` more are packed.
  void Advance(uint64_t bytes);

 private:
  void Run();
  const Checkpoint& checkpoint_;
  const std::vector<const RawTensor*> tensors_;
  std::atomic<uint64_t> done_bytes_{0};
  std::thread thread_;
};

}  // namespace firebrick
