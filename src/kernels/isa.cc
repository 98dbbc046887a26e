#include "kernels/isa.h"

#include <array>

#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace firebrick {
namespace {

constexpr std::array<std::string_view, 4> kNames = {"ref", "avx2", "avx512", "amx"};

// The kernel hands the tile registers only to a process that asks for them.
bool TilesAllowed() {
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

bool HasAmx() {
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
  uint32_t d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr uint32_t kBf16 = 1U << 22;
  constexpr uint32_t kTile = 1U << 24;
  constexpr uint32_t kInt8 = 1U << 25;
  constexpr uint32_t kAll = kBf16 | kTile | kInt8;
  return (d & kAll) == kAll && TilesAllowed();
}

}  // namespace

std::string_view NameOf(IsaLevel level) { return kNames.at(static_cast<size_t>(level)); }

std::optional<IsaLevel> FindIsaLevel(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<IsaLevel>(i);
  }
  return std::nullopt;
}

bool CpuHas(IsaLevel level) {
  switch (level) {
    case IsaLevel::kRef:
      return true;
    case IsaLevel::kAvx2:
      return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    case IsaLevel::kAvx512:
      return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
             __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    case IsaLevel::kAmx:
      return CpuHas(IsaLevel::kAvx512) && HasAmx();
  }
  return false;
}

}  // namespace firebrick
