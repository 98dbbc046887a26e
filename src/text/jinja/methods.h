// The methods that values have: Python's, less those that change the value.
#pragma once

#include <string_view>

#include "text/jinja/objects.h"

namespace firebrick::jinja {

MethodFn FindTextMethod(std::string_view name);  // nullptr where there is none
MethodFn FindListMethod(std::string_view name);  // for tuples too
MethodFn FindDictMethod(std::string_view name);
MethodFn FindCyclerMethod(std::string_view name);

}  // namespace firebrick::jinja
