// `firebrick inspect`: what a model file or folder holds. Thread: the main thread.
#pragma once

#include <ostream>
#include <string>

#include "base/status.h"

namespace firebrick {

struct InspectOptions {
  std::string path = {};  // a file or folder, already resolved
  bool json = false;      // one JSON object instead of a table
  bool tensors = true;    // list every tensor
};

Status Inspect(const InspectOptions& options, std::ostream& out);

}  // namespace firebrick
