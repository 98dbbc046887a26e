// Hashes: SHA-256 for identities that an attacker must not forge, XXH3-128 for damage.
// Thread: any.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace firebrick {

using Digest256 = std::array<uint8_t, 32>;

// SHA-256 over pieces, in order. The algorithm is fetched from OpenSSL once; a hasher is reused by Reset.
class Sha256 {
 public:
  Sha256();
  ~Sha256();
  Sha256(const Sha256&) = delete;
  Sha256& operator=(const Sha256&) = delete;

  void Reset();
  void Update(std::span<const std::byte> bytes);
  void Update(std::string_view text);
  // Finishes; call Reset before the next use.
  Digest256 Finish();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

Digest256 Sha256Of(std::string_view text);
std::string ToHex(std::span<const uint8_t> bytes);

struct Checksum128 {
  uint64_t low = 0;
  uint64_t high = 0;
  friend bool operator==(const Checksum128&, const Checksum128&) = default;
};
Checksum128 Xxh3Of(std::span<const std::byte> bytes);

}  // namespace firebrick
