// The constants that the files of this folder define; registry.cc lists them.
#pragma once

#include "model/arch/architecture.h"

namespace firebrick {

extern const Architecture kLlama;
extern const Architecture kMistral;
extern const Architecture kSmolLm3;
extern const Architecture kQwen2;
extern const Architecture kQwen3;
extern const Architecture kGemma3;

}  // namespace firebrick
