#include "cli/command.h"

#include <cstdio>

#include "cli/nearest.h"

namespace firebrick {
namespace {

std::string Overview() {
  std::string text =
      "Firebrick: an inference server for large language models\n\n"
      "Usage: firebrick COMMAND [MODEL] [flags]\n\n";
  for (const Command& command : Commands())
    text += fmt::format("  {:<12}{}\n", command.name, command.summary);
  text +=
      "\n'firebrick COMMAND --help' shows the flags and an example; --version prints the version.\n"
      "\nExample:\n  firebrick serve\n";
  return text;
}

int Report(const Status& status, std::string_view command) {
  if (status.ok()) return 0;
  std::fprintf(stderr, "firebrick%s%.*s: %s\n", command.empty() ? "" : " ", static_cast<int>(command.size()),
               command.data(), status.message().c_str());
  return ExitCodeOf(status.code());
}

Status UnknownCommand(const std::string& name) {
  std::vector<std::string> names;
  for (const Command& command : Commands()) names.emplace_back(command.name);
  const std::string nearest = NearestName(name, names);
  if (nearest.empty()) return InvalidArgument("unknown command '{}'; see 'firebrick --help'", name);
  return InvalidArgument("unknown command '{}': did you mean '{}'? (see 'firebrick --help')", name, nearest);
}

void Print(const std::string& text) { std::fputs(text.c_str(), stdout); }

}  // namespace

int ExitCodeOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 0;
    case StatusCode::kInternal:
      return 1;
    case StatusCode::kInvalidArgument:
      return 2;
    case StatusCode::kNotFound:
      return 3;
    case StatusCode::kFailedPrecondition:
      return 4;
    case StatusCode::kResourceExhausted:
      return 5;
    case StatusCode::kUnavailable:
      return 6;
    case StatusCode::kDeadlineExceeded:
      return 7;
    case StatusCode::kDataLoss:
      return 8;
    case StatusCode::kUnimplemented:
      return 9;
    case StatusCode::kCancelled:
      return 130;
  }
  return 1;
}

int RunCommandLine(std::span<const std::string> arguments) {
  if (arguments.empty()) {
    std::fputs(Overview().c_str(), stderr);
    return ExitCodeOf(StatusCode::kInvalidArgument);
  }
  std::string name = arguments.front();
  arguments = arguments.subspan(1);
  if (name == "-h" || name == "--help" || (name == "help" && arguments.empty())) {
    Print(Overview());
    return 0;
  }
  if (name == "--version") {
    Print("firebrick " FIREBRICK_VERSION "\n");
    return 0;
  }
  const bool only_help = name == "help";
  if (only_help) name = arguments.front();
  for (const Command& command : Commands()) {
    if (command.name != name) continue;
    FlagSet flags{name, std::string(command.summary)};
    const CommandAction action = command.declare(&flags);
    if (!only_help) {
      const Status parsed = flags.Parse(arguments);
      if (!parsed.ok()) return Report(parsed, name);
    }
    if (only_help || flags.help_requested()) {
      Print(flags.Help());
      return 0;
    }
    return Report(action(), name);
  }
  return Report(UnknownCommand(name), "");
}

}  // namespace firebrick
