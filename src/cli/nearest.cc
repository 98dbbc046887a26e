#include "cli/nearest.h"

#include <algorithm>
#include <vector>

namespace firebrick {

size_t EditDistance(std::string_view a, std::string_view b) {
  const size_t width = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * width);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * width + j]; };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t best = std::min(at(i - 1, j), at(i, j - 1)) + 1;
      best = std::min(best, at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        best = std::min(best, at(i - 2, j - 2) + 1);
      }
      at(i, j) = best;
    }
  }
  return at(a.size(), b.size());
}

std::string NearestName(std::string_view name, std::span<const std::string> candidates) {
  constexpr size_t kMaxNameLength = 64;  // a longer word is no slip of the fingers
  std::string nearest;
  if (name.size() > kMaxNameLength) return nearest;
  size_t fewest = std::max<size_t>(2, name.size() / 2) + 1;
  for (const std::string& candidate : candidates) {
    const bool begins_alike = name.size() >= 3 && candidate.starts_with(name);
    const size_t edits = begins_alike ? 1 : EditDistance(name, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace firebrick
