// Template text to Program. Grammar of Jinja 3.1 without inheritance and includes; with loopcontrols and the
// `generation` tag. Throws Failure; bounds: source size, tokens, depth of expressions and statements.
#pragma once

#include <string_view>

#include "text/jinja/ast.h"

namespace firebrick::jinja {

inline constexpr size_t kMaxTemplateBytes = 2 << 20;
inline constexpr int kMaxExprDepth = 200;
inline constexpr int kMaxBlockDepth = 100;

Program ParseProgram(std::string_view source);

}  // namespace firebrick::jinja
