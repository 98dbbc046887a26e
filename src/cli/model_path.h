// Which file or folder a person means by MODEL. Thread: any; reads the environment.
#pragma once

#include <string>

#include "base/status.h"

namespace firebrick {

// $HF_HUB_CACHE, or $HF_HOME/hub, or CacheFolder()/huggingface/hub: the folder that every hub client shares.
std::string HubCacheFolder();
// Where the default model lies once it is fetched.
std::string DefaultModelPath();

// MODEL is a file or a folder; or ORG/NAME of a hub model that is already in the hub cache (the snapshot that
// refs/main names), with :FILE or :QUANT for one GGUF file of it; or empty for the default model. kNotFound
// says how to get it.
Result<std::string> ResolveModelPath(const std::string& model);

}  // namespace firebrick
