// links: fb_weights
// The GGUF parser over whole files: whatever it accepts must be consistent, and every accepted byte readable.
#include <cstddef>
#include <cstdint>
#include <span>

#include "weights/expand.h"
#include "weights/gguf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto file = firebrick::ParseGguf(bytes, "fuzz.gguf", 0);
  if (!file.ok()) return 0;
  firebrick::CanonicalRows rows;
  for (const firebrick::RawTensor& tensor : file->tensors) {
    const auto& info = firebrick::InfoOf(tensor.type);
    const auto count = static_cast<uint64_t>(tensor.NumElements());
    if (tensor.data.size() != count / info.block_elements * info.block_bytes) __builtin_trap();
    if (tensor.data.data() < bytes.data() || tensor.file_offset + tensor.data.size() > size) __builtin_trap();
    firebrick::ExpandRows(tensor.type, tensor.data.data(), tensor.cols(), 0, tensor.rows(), &rows);
  }
  return 0;
}
