// The page cache of a file, as a measurement of cold and warm starts needs it. Thread: any.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace firebrick {

// Asks the kernel to forget the file's pages; returns the share that is cached afterwards, 0 to 1. Pages that
// some process has mapped stay.
Result<double> DropFromPageCache(const std::string& path);
// Share of the file that is cached.
Result<double> CachedShare(const std::string& path);
// Seconds to read the file once, sequentially: around the cache where `direct` and the file system allows it,
// else through it.
Result<double> TimeReading(const std::string& path, bool direct);
// Takes `bytes` of memory from the system, writes to each page, and gives it back.
void TouchFreeMemory(uint64_t bytes);

}  // namespace firebrick
