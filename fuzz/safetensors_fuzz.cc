// links: fb_weights
// The safetensors parser and the shard index. Whatever is accepted must be consistent.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "weights/expand.h"
#include "weights/safetensors.h"
#include "weights/safetensors_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto index = firebrick::ParseSafetensorsIndex(
      std::string_view(reinterpret_cast<const char*>(data), size), "index.json");
  if (index.ok()) {
    for (const auto& [tensor, shard] : *index) {
      if (shard.find('/') != std::string::npos || shard == "..") __builtin_trap();
    }
  }
  const auto file = firebrick::ParseSafetensors(bytes, "fuzz.safetensors", 0);
  if (!file.ok()) return 0;
  uint64_t total = 0;
  firebrick::CanonicalRows rows;
  for (const firebrick::RawTensor& tensor : file->tensors) {
    const auto count = static_cast<uint64_t>(tensor.NumElements());
    if (tensor.data.size() != count * firebrick::InfoOf(tensor.type).block_bytes) __builtin_trap();
    if (tensor.file_offset + tensor.data.size() > size) __builtin_trap();
    if (count > 0) {
      firebrick::ExpandRows(tensor.type, tensor.data.data(), tensor.cols(), 0, tensor.rows(), &rows);
    }
    total += tensor.data.size();
  }
  for (const firebrick::OpaqueTensor& tensor : file->opaque) total += tensor.num_bytes;
  if (total > size) __builtin_trap();
  return 0;
}
