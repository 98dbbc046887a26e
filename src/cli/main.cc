// firebrick: one binary, many commands.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include "base/log.h"
#include "cli/command.h"

int main(int argc, char** argv) {
  try {
    const firebrick::Status logging = firebrick::ConfigureLog("warn");
    CHECK_MSG(logging.ok(), "{}", logging.ToString());
    return firebrick::RunCommandLine(std::vector<std::string>(argv + (argc > 0 ? 1 : 0), argv + argc));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "firebrick: internal error: %s\n", error.what());
    return firebrick::ExitCodeOf(firebrick::StatusCode::kInternal);
  }
}
