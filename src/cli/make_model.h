// `firebrick make-model`: a model of a named shape with random weights. Thread: the main thread; starts its
// own.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>

#include "base/status.h"

namespace firebrick {

struct MakeModelOptions {
  std::string shape = {};  // a name of ModelShapes()
  std::string out = {};    // the .gguf file, a folder to put it into, or the folder of safetensors
  std::string type = "bf16";
  std::string format = "gguf";  // or "safetensors"
  uint64_t seed = 0;
  std::string tokenizer = {};  // empty: a generated one
  int num_threads = 2;
};

// Draws a progress bar on standard error, writes what it did to `out`.
Status MakeModel(const MakeModelOptions& options, std::ostream& out);

}  // namespace firebrick
