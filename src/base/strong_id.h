// StrongId: an integer that cannot be mixed up with another kind of integer.
// Thread: any; a value.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>

namespace firebrick {

// using RequestId = StrongId<struct RequestIdTag, uint64_t>; a default-made id is invalid (all ones).
template <typename Tag, typename Int>
class StrongId {
 public:
  using Value = Int;
  constexpr StrongId() = default;
  constexpr explicit StrongId(Int value) : value_(value) {}
  constexpr Int value() const { return value_; }
  constexpr bool valid() const { return value_ != static_cast<Int>(-1); }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;

 private:
  Int value_ = static_cast<Int>(-1);
};

}  // namespace firebrick

template <typename Tag, typename Int>
struct std::hash<firebrick::StrongId<Tag, Int>> {
  size_t operator()(firebrick::StrongId<Tag, Int> id) const { return std::hash<Int>()(id.value()); }
};
