// The filters, tests and global functions that a template may name.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace firebrick::jinja {

FilterFn FindFilter(std::string_view name);  // nullptr where there is none
TestFn FindTest(std::string_view name);
// range, namespace, dict, cycler, joiner, raise_exception, strftime_now; undefined where there is none.
Value FindGlobal(std::string_view name);

}  // namespace firebrick::jinja
