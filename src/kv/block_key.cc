#include "kv/block_key.h"

#include <bit>

namespace firebrick {

static_assert(std::endian::native == std::endian::little, "keys are defined over little-endian numbers");

BlockKey BlockKeyChain::Root(std::span<const uint8_t> key_root, std::string_view cache_salt) {
  constexpr std::string_view kDomain = "firebrick-kv-root-1";
  sha_.Reset();
  const auto add_field = [&](std::span<const std::byte> bytes) {
    const uint64_t length = bytes.size();
    sha_.Update(std::as_bytes(std::span(&length, 1)));
    sha_.Update(bytes);
  };
  add_field(std::as_bytes(std::span(kDomain)));
  add_field(std::as_bytes(key_root));
  add_field(std::as_bytes(std::span(cache_salt)));
  return sha_.Finish();
}

BlockKey BlockKeyChain::Next(const BlockKey& parent, std::span<const int32_t> tokens) {
  sha_.Reset();
  sha_.Update(std::as_bytes(std::span(parent)));
  sha_.Update(std::as_bytes(tokens));
  return sha_.Finish();
}

}  // namespace firebrick
