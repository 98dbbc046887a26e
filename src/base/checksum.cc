#include "base/checksum.h"

#include <openssl/evp.h>
// Inline, so that it is compiled for AVX2: the library's own build is SSE2.
#define XXH_INLINE_ALL
#include <xxhash.h>

#include "base/status.h"

namespace firebrick {
namespace {

const EVP_MD* Sha256Algorithm() {
  static const EVP_MD* algorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  CHECK_MSG(algorithm != nullptr, "OpenSSL has no SHA256; install its default provider");
  return algorithm;
}

}  // namespace

struct Sha256::State {
  EVP_MD_CTX* context = EVP_MD_CTX_new();
  State() = default;
  State(const State&) = delete;
  State& operator=(const State&) = delete;
  ~State() { EVP_MD_CTX_free(context); }
};

Sha256::Sha256() : state_(std::make_unique<State>()) { Reset(); }
Sha256::~Sha256() = default;

void Sha256::Reset() { CHECK(EVP_DigestInit_ex2(state_->context, Sha256Algorithm(), nullptr) == 1); }

void Sha256::Update(std::span<const std::byte> bytes) {
  CHECK(EVP_DigestUpdate(state_->context, bytes.data(), bytes.size()) == 1);
}

void Sha256::Update(std::string_view text) { Update(std::as_bytes(std::span(text.data(), text.size()))); }

Digest256 Sha256::Finish() {
  Digest256 digest;
  unsigned int size = 0;
  CHECK(EVP_DigestFinal_ex(state_->context, digest.data(), &size) == 1 && size == digest.size());
  return digest;
}

Digest256 Sha256Of(std::string_view text) {
  Sha256 hasher;
  hasher.Update(text);
  return hasher.Finish();
}

std::string ToHex(std::span<const uint8_t> bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Checksum128 Xxh3Of(std::span<const std::byte> bytes) {
  const XXH128_hash_t hash = XXH3_128bits(bytes.data(), bytes.size());
  return {hash.low64, hash.high64};
}

}  // namespace firebrick
