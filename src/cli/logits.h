// firebrick logits: the logits of every position of an id list, straight from the model, without the engine.
// Thread: the main thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/options.h"

namespace firebrick {

struct LogitsOptions {
  ModelOptions model;
  std::vector<int32_t> ids;  // the list whose logits are printed
  std::string ids_file;      // instead: JSON, one list of ids per line
  std::string beside;        // other id lists that run in the same batch, in the same form
  int32_t chunk = 512;       // tokens of a list in one pass
  bool json = false;         // {"ids": [...], "logits": [[...], ...]} on standard output
  std::string npy;           // a file for NumPy: float32 [positions][vocabulary]
  // Instead of printing logits: how far this run is from FP32 arithmetic on the same dequantised weights with
  // an FP32 KV cache, over all lists of ids_file.
  bool kl = false;
};

Status RunLogits(const LogitsOptions& options);

}  // namespace firebrick
