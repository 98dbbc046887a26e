// The geometry of KV pages: the one owner of where a head's keys and values lie in a page.
//
// A page holds 32 tokens of all layers of one group, contiguous:
//   [layer of group][K | V][kv head][tile]
//   K tile: [head_dim / 2][32 tokens][2]        pairs of head_dim, so a tile is an operand as it lies
//   V tile: [16 token pairs][head_dim][2]
// Elements are BF16 or F32. All groups of a model have the same number of layers, so pages are equal and one
// arena serves all groups. Source: ../shared/design/architecture.md "The KV cache's shape". Thread: values;
// any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace firebrick {

inline constexpr int32_t kBlockTokens = 32;

enum class KvDType : uint8_t { kBF16, kF32 };
inline size_t BytesOf(KvDType dtype) { return dtype == KvDType::kBF16 ? 2 : 4; }

// Layers that share block tables. window 0: every earlier token is seen; window w: the last w tokens, itself
// included (position p sees (p - w, p]).
struct KvGroupSpec {
  std::vector<int32_t> layers;
  int32_t window = 0;
};

struct KvGeometry {
  KvDType dtype = KvDType::kBF16;
  int32_t num_kv_heads = 0;
  int32_t head_dim = 0;  // even
  std::vector<KvGroupSpec> groups;

  int32_t layers_per_page() const {
    return groups.empty() ? 0 : static_cast<int32_t>(groups[0].layers.size());
  }
  size_t tile_bytes() const { return static_cast<size_t>(head_dim) * kBlockTokens * BytesOf(dtype); }
  size_t layer_bytes() const { return 2 * tile_bytes() * static_cast<size_t>(num_kv_heads); }
  size_t page_bytes() const { return layer_bytes() * static_cast<size_t>(layers_per_page()); }
  // Bytes from the page's start to the K tile of `head` in the group's layer number `layer_in_group`.
  size_t KeyOffset(int32_t layer_in_group, int32_t head) const {
    return layer_bytes() * static_cast<size_t>(layer_in_group) + tile_bytes() * static_cast<size_t>(head);
  }
  size_t ValueOffset(int32_t layer_in_group, int32_t head) const {
    return KeyOffset(layer_in_group, head) + tile_bytes() * static_cast<size_t>(num_kv_heads);
  }
};

// Cuts layers into groups of equal size. layer_windows[l]: window of layer l, 0 = full. The group size is the
// greatest common divisor of the layer counts per window.
std::vector<KvGroupSpec> CutLayerGroups(const std::vector<int32_t>& layer_windows);

}  // namespace firebrick
