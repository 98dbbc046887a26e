#include "cli/commands.h"

#include <array>

namespace firebrick {
namespace {

constexpr std::array kCommands = {
    Command{"serve", "Serve a model through the OpenAI API", &DeclareServe},
    Command{"run", "Chat with a model in the terminal, or answer once", &DeclareRun},
    Command{"pull", "Download a model from a hub into the shared cache", &DeclarePull},
    Command{"inspect", "Show what a model file or folder holds", &DeclareInspect},
    Command{"doctor", "Show what this machine offers and what is missing", &DeclareDoctor},
    Command{"bench", "Measure speed on this machine", &DeclareBench},
    Command{"make-model", "Write a model of a named shape with random weights", &DeclareMakeModel},
    Command{"tokenize", "Turn text into token ids, and back", &DeclareTokenize},
    Command{"template", "Show the prompt that a chat request becomes", &DeclareTemplate},
    Command{"logits", "Print the logits of a list of token ids", &DeclareLogits},
};

}  // namespace

std::span<const Command> Commands() { return kCommands; }

}  // namespace firebrick
