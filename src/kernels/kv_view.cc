#include "kernels/kv_view.h"

#include <map>
#include <numeric>

namespace firebrick {

std::vector<KvGroupSpec> CutLayerGroups(const std::vector<int32_t>& layer_windows) {
  std::map<int32_t, std::vector<int32_t>> layers_by_window;
  for (size_t layer = 0; layer < layer_windows.size(); ++layer) {
    layers_by_window[layer_windows[layer]].push_back(static_cast<int32_t>(layer));
  }
  size_t group_size = 0;
  for (const auto& [window, layers] : layers_by_window) group_size = std::gcd(group_size, layers.size());
  std::vector<KvGroupSpec> groups;
  for (const auto& [window, layers] : layers_by_window) {
    for (size_t begin = 0; begin < layers.size(); begin += group_size) {
      const auto first = layers.begin() + static_cast<std::ptrdiff_t>(begin);
      groups.push_back({{first, first + static_cast<std::ptrdiff_t>(group_size)}, window});
    }
  }
  return groups;
}

}  // namespace firebrick
