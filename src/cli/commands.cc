#include "cli/commands.h"

#include <array>

namespace firebrick {
namespace {

constexpr std::array kCommands = {
    Command{"doctor", "Show what this machine offers and what is missing", &DeclareDoctor},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace firebrick
