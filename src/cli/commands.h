// The declaring function of every command: flags and action. Each lies in the file of its command.
// Thread: the main thread.
#pragma once

#include "cli/command.h"

namespace firebrick {

CommandAction DeclareBench(FlagSet* flags);
CommandAction DeclareDoctor(FlagSet* flags);
CommandAction DeclareInspect(FlagSet* flags);
CommandAction DeclareLogits(FlagSet* flags);
CommandAction DeclareMakeModel(FlagSet* flags);
CommandAction DeclarePull(FlagSet* flags);
CommandAction DeclareRun(FlagSet* flags);
CommandAction DeclareServe(FlagSet* flags);
CommandAction DeclareTemplate(FlagSet* flags);
CommandAction DeclareTokenize(FlagSet* flags);

}  // namespace firebrick
