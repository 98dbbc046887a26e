// The commands of the binary. One file per command declares its flags and says what to do with them.
// Thread: the main thread.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"
#include "cli/flags.h"

namespace firebrick {

// What a command does once its flags are parsed.
using CommandAction = std::function<Status()>;

struct Command {
  std::string_view name;
  std::string_view summary;                  // one line
  CommandAction (*declare)(FlagSet* flags);  // adds the flags; the action owns their targets
};

// In the order of the help text.
std::span<const Command> Commands();

// 0 for success; see docs/contracts/errors.md.
int ExitCodeOf(StatusCode code);

// Runs `firebrick ARGUMENTS...`: finds the command, parses its flags, acts, prints an error to standard
// error. Returns the exit code.
int RunCommandLine(std::span<const std::string> arguments);

}  // namespace firebrick
