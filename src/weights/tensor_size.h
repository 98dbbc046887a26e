// Sizes of tensors, with arithmetic that cannot wrap. Thread: any.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "tensor/weight_type.h"

namespace firebrick {

// a * b and a + b, or nothing where the result does not fit.
inline std::optional<uint64_t> CheckedMultiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product)) return std::nullopt;
  return product;
}
inline std::optional<uint64_t> CheckedAdd(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum)) return std::nullopt;
  return sum;
}

// Number of elements of `shape`; nothing where a dimension is negative or the product of those above zero
// exceeds int64: then every partial product fits, too.
inline std::optional<int64_t> CountElements(std::span<const int64_t> shape) {
  int64_t count = 1;
  bool has_zero = false;
  for (const int64_t dim : shape) {
    if (dim < 0 || (dim > 0 && __builtin_mul_overflow(count, dim, &count))) return std::nullopt;
    has_zero = has_zero || dim == 0;
  }
  return has_zero ? 0 : count;
}

// Bytes that `shape` takes in `type`; nothing where that overflows or the fastest axis is no multiple of the
// type's block.
inline std::optional<uint64_t> CountBytes(WeightType type, std::span<const int64_t> shape) {
  const WeightTypeInfo& info = InfoOf(type);
  const std::optional<int64_t> count = CountElements(shape);
  const int64_t fastest = shape.empty() ? 1 : shape.back();
  if (!count || fastest % info.block_elements != 0) return std::nullopt;
  return CheckedMultiply(static_cast<uint64_t>(*count) / info.block_elements, info.block_bytes);
}

}  // namespace firebrick
