#include "kernels/activation.h"

#include <algorithm>

namespace firebrick {
namespace {

constexpr size_t kAlignment = 64;
// A kernel may read, and does not use, the group sums of up to so many rows behind the last.
constexpr int64_t kSpareRows = 7;
size_t PadBytes(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

}  // namespace

Status Activation::Reshape(int64_t num_rows, int64_t num_cols, ActivationNeeds needs) {
  const int64_t padded = PadToBlock(num_cols);
  const auto values = static_cast<size_t>(num_rows * padded);
  const size_t exact_bytes = needs.exact ? PadBytes(values * sizeof(float)) : 0;
  const size_t rounded_bytes = needs.rounded ? PadBytes(values * sizeof(float)) : 0;
  const auto tiled_values = static_cast<size_t>((num_rows + 15) / 16 * 16 * padded);
  const auto sum_values = static_cast<size_t>((num_rows + kSpareRows) * padded);
  const size_t bf16_bytes = needs.bf16 ? PadBytes(tiled_values * sizeof(uint16_t)) : 0;
  const size_t sums32_bytes = needs.sums32 ? PadBytes(sum_values / 32 * sizeof(float)) : 0;
  const size_t sums16_bytes = needs.sums16 ? PadBytes(sum_values / 16 * sizeof(float)) : 0;
  const size_t total = exact_bytes + rounded_bytes + bf16_bytes + sums32_bytes + sums16_bytes;
  if (total > buffer_.size()) {
    buffer_ = AlignedBuffer();
    ASSIGN_OR_RETURN(buffer_, AlignedBuffer::Allocate(MemoryAccount::kActivations, total));
  }
  std::byte* at = buffer_.data();
  const auto take = [&at](size_t bytes) {
    std::byte* begin = at;
    at += bytes;
    return begin;
  };
  exact_ = reinterpret_cast<float*>(take(exact_bytes));
  rounded_ = reinterpret_cast<float*>(take(rounded_bytes));
  bf16_ = reinterpret_cast<uint16_t*>(take(bf16_bytes));
  sums32_ = reinterpret_cast<float*>(take(sums32_bytes));
  sums16_ = reinterpret_cast<float*>(take(sums16_bytes));
  num_rows_ = num_rows;
  num_cols_ = num_cols;
  padded_cols_ = padded;
  needs_ = needs;
  return OkStatus();
}

}  // namespace firebrick
