// The name that a person probably meant. Thread: any.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace firebrick {

// Edits (insert, delete, replace, swap of neighbours) that turn one text into the other.
size_t EditDistance(std::string_view a, std::string_view b);

// The candidate with the fewest edits, the first of equals; empty where the nearest is nothing alike.
std::string NearestName(std::string_view name, std::span<const std::string> candidates);

}  // namespace firebrick
