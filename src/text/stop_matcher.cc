#include "text/stop_matcher.h"

#include <utility>

namespace firebrick {

Result<StopMatcher> StopMatcher::Create(const std::vector<std::string>& stops, bool include_stop) {
  if (stops.size() > kMaxStops) {
    return InvalidArgument("{} stop strings are too many; send at most {}", stops.size(), kMaxStops);
  }
  StopMatcher matcher;
  matcher.include_stop_ = include_stop;
  matcher.nodes_.emplace_back();
  for (size_t i = 0; i < stops.size(); ++i) {
    if (stops[i].empty()) return InvalidArgument("stop string {} is empty; leave it out", i);
    if (stops[i].size() > kMaxStopBytes) {
      return InvalidArgument("stop string {} has {} bytes; at most {} are allowed", i, stops[i].size(),
                             kMaxStopBytes);
    }
    matcher.AddStop(stops[i], static_cast<int32_t>(i));
    matcher.stop_bytes_.push_back(stops[i].size());
  }
  matcher.LinkFailures();
  return matcher;
}

uint32_t StopMatcher::FindChild(uint32_t node, unsigned char byte) const {
  for (uint32_t child = nodes_[node].first_child; child != 0; child = nodes_[child].next_sibling) {
    if (nodes_[child].byte == byte) return child;
  }
  return 0;
}

void StopMatcher::AddStop(std::string_view stop, int32_t index) {
  uint32_t node = 0;
  for (const char c : stop) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t child = FindChild(node, byte);
    if (child == 0) {
      child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back(
          {.next_sibling = nodes_[node].first_child, .depth = nodes_[node].depth + 1, .byte = byte});
      nodes_[node].first_child = child;
    }
    node = child;
  }
  if (nodes_[node].stop < 0) nodes_[node].stop = index;
}

void StopMatcher::LinkFailures() {
  std::vector<uint32_t> queue;
  for (uint32_t child = nodes_[0].first_child; child != 0; child = nodes_[child].next_sibling) {
    queue.push_back(child);
  }
  for (size_t i = 0; i < queue.size(); ++i) {  // breadth first: a failure link leads to a shallower node
    const uint32_t node = queue[i];
    for (uint32_t child = nodes_[node].first_child; child != 0; child = nodes_[child].next_sibling) {
      uint32_t fail = nodes_[node].fail;
      uint32_t target = FindChild(fail, nodes_[child].byte);
      while (target == 0 && fail != 0) {
        fail = nodes_[fail].fail;
        target = FindChild(fail, nodes_[child].byte);
      }
      nodes_[child].fail = target;
      if (nodes_[child].stop < 0) nodes_[child].stop = nodes_[target].stop;
      queue.push_back(child);
    }
  }
}

StopMatcher::Output StopMatcher::Push(std::string_view text) {
  Output output;
  if (finished_) return output;
  output.text = std::exchange(held_, {});
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    output.text += c;
    uint32_t next = FindChild(state_, byte);
    while (next == 0 && state_ != 0) {
      state_ = nodes_[state_].fail;
      next = FindChild(state_, byte);
    }
    state_ = next;
    if (nodes_[state_].stop < 0) continue;
    finished_ = true;
    output.matched = static_cast<size_t>(nodes_[state_].stop);
    if (!include_stop_) output.text.erase(output.text.size() - stop_bytes_[*output.matched]);
    return output;
  }
  const size_t keep = nodes_[state_].depth;
  held_ = output.text.substr(output.text.size() - keep);
  output.text.erase(output.text.size() - keep);
  return output;
}

std::string StopMatcher::Flush() {
  if (finished_) return {};
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace firebrick
