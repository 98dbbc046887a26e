// Names out of a file that nobody vouches for, made fit for a terminal and a log line. Thread: any.
#pragma once

#include <string>
#include <string_view>

namespace firebrick {

// `text` with control characters and invalid UTF-8 replaced by '?', cut to max_bytes at a character border
// ("..." marks the cut).
std::string Printable(std::string_view text, size_t max_bytes = 120);

// Whether a tensor name or a metadata key may be used as it is: 1 to max_bytes bytes of UTF-8 without control
// characters.
bool IsCleanName(std::string_view name, size_t max_bytes);

}  // namespace firebrick
