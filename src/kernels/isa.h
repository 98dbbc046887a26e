// The levels of the instruction set for which there are kernels. Thread: any; values.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace firebrick {

// In ascending order. kRef is the numeric definition in plain C++ and runs anywhere.
enum class IsaLevel : uint8_t { kRef, kAvx2, kAvx512, kAmx };

std::string_view NameOf(IsaLevel level);  // "ref", "avx2", "avx512", "amx": as --isa spells it
std::optional<IsaLevel> FindIsaLevel(std::string_view name);

// Whether this CPU and operating system can run the level. AVX-512 means F, BW, DQ and VL.
bool CpuHas(IsaLevel level);

}  // namespace firebrick
