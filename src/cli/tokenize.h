// `firebrick tokenize`: text to ids and back.
#pragma once

#include <istream>
#include <ostream>
#include <string>

#include "base/status.h"

namespace firebrick {

struct TokenizeOptions {
  std::string model;    // a .gguf file, a folder, or a tokenizer.json
  bool jsonl = false;   // in: one JSON string a line; out: one array of ids a line. Else all of the input is
                        // one text, and the ids come on one line, separated by spaces
  bool decode = false;  // the other way: arrays of ids (or ids separated by spaces) to text
  bool no_special =
      false;  // look-alikes of special tokens stay text; with decode: special tokens are left out
  bool add_special = false;  // BOS and EOS, as the file's post-processor adds them
};

// Reads `in` to its end. Fails at the first line that is not what it should be, naming it.
Status TokenizeCommand(const TokenizeOptions& options, std::istream& in, std::ostream& out);

}  // namespace firebrick
