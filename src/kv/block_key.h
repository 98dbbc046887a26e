// BlockKey: what the KV of a full block depends on, as a chained SHA-256. One builder for every tier and
// router. Thread: a BlockKeyChain belongs to one thread; keys are values.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "base/checksum.h"

namespace firebrick {

using BlockKey = Digest256;

// For hash tables: the key is uniform already.
struct BlockKeyHash {
  size_t operator()(const BlockKey& key) const {
    size_t hash = 0;
    std::memcpy(&hash, key.data(), sizeof(hash));
    return hash;
  }
};

// root = SHA-256("firebrick-kv-root-1", key_root, cache_salt), each field behind its length (8 bytes, little
// endian), so that no two pairs share a framing; key[i] = SHA-256(key[i-1] or root, the 32 token ids of block
// i as 4 bytes each, little endian). A key thus names the block's tokens, all tokens before them, their
// positions, the salt, and through key_root all settings that change KV. The layer group is not part of it.
class BlockKeyChain {
 public:
  BlockKey Root(std::span<const uint8_t> key_root, std::string_view cache_salt);
  // `tokens`: the kBlockTokens ids of a full block.
  BlockKey Next(const BlockKey& parent, std::span<const int32_t> tokens);

 private:
  Sha256 sha_;
};

}  // namespace firebrick
