// The filters by the kind of value that they are for; builtins.cc joins them.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/ast.h"

namespace firebrick::jinja {

struct NamedFilter {
  std::string_view name;
  FilterFn function;
};

std::span<const NamedFilter> TextFilters();
std::span<const NamedFilter> SequenceFilters();
std::span<const NamedFilter> SelectionFilters();  // map, select, sort and all that look at attributes
std::span<const NamedFilter> NumberFilters();

}  // namespace firebrick::jinja
