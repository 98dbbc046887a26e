// Stop strings, found across token borders. Thread: owned by one thread at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firebrick {

// Finds the first stop string to be complete (of those complete at the same byte, the longest), whatever the
// pieces in which the text comes. Only the longest suffix that is a true beginning of a stop string is held
// back.
class StopMatcher {
 public:
  static constexpr size_t kMaxStops = 64;
  static constexpr size_t kMaxStopBytes = 4096;  // each

  // Empty strings, more than kMaxStops, or longer than kMaxStopBytes: kInvalidArgument. No stops: text
  // passes.
  static Result<StopMatcher> Create(const std::vector<std::string>& stops, bool include_stop);

  struct Output {
    std::string text;               // to be sent now
    std::optional<size_t> matched;  // index into stops; the sequence ends here
  };
  // `text` holds whole characters. After a match every further call returns nothing.
  Output Push(std::string_view text);
  // The end of the sequence without a match: what was held back.
  std::string Flush();

 private:
  struct Node {
    uint32_t first_child = 0;  // 0: none
    uint32_t next_sibling = 0;
    uint32_t fail = 0;
    uint32_t depth = 0;
    int32_t stop = -1;  // the longest stop string that ends here
    unsigned char byte = 0;
  };
  StopMatcher() = default;
  uint32_t FindChild(uint32_t node, unsigned char byte) const;
  void AddStop(std::string_view stop, int32_t index);
  void LinkFailures();

  std::vector<Node> nodes_;  // an Aho-Corasick automaton; node 0 is the root
  std::vector<size_t> stop_bytes_;
  bool include_stop_ = false;
  bool finished_ = false;
  uint32_t state_ = 0;
  std::string held_;
};

}  // namespace firebrick
