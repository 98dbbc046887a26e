// After parsing: finds the filters and tests by name, and what the bodies of macros use.
#pragma once

#include "text/jinja/ast.h"

namespace firebrick::jinja {

// Fails for an unknown filter or test, but inside an `if` or a choice, where Jinja fails only once it is
// reached.
void CheckNames(Program* program);

}  // namespace firebrick::jinja
