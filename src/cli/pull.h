// `firebrick pull`: a model from a hub into the shared cache folder.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "base/status.h"

namespace firebrick {

struct PullOptions {
  std::string name;                  // ORG/NAME, ORG/NAME:FILE, ORG/NAME:QUANT
  std::string revision = "main";     // branch, tag or commit
  std::vector<std::string> include;  // shell patterns of files, instead of the default choice
  int num_tries = 5;  // of each file, where the connection breaks; each goes on where the last ended
};

// Downloads what is missing, checks every file, and prints the path that `serve` and `run` take. With
// HF_HUB_OFFLINE nothing is asked for: the path of what is there already, or an error.
Status Pull(const PullOptions& options, std::ostream& out);

}  // namespace firebrick
