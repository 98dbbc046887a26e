// ModelSession: a model made ready to answer: file, tokenizer, template, packed weights, executor and engine,
// in the order in which they stand on each other. What serve, run and bench share. Thread: loaded by the main
// thread; the members are const afterwards, the engine is thread-safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "config/options.h"
#include "device/thread_pool.h"
#include "engine/engine.h"
#include "engine/resolve.h"
#include "exec/rank_executor.h"
#include "model/model.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace firebrick {

// --isa and --kv-cache-dtype as the person wrote them; an error names what this CPU has.
Result<const Ops*> ResolveOps(const std::string& isa);
Result<KvDType> ParseKvDType(const std::string& name);

// The numeric side alone: enough for logits and speed.
struct LoadedModel {
  std::string path;  // file or folder
  std::string name;  // last part of the path without its ending; what /v1/models shows
  const Ops* ops = nullptr;
  KvDType kv_dtype = KvDType::kBF16;
  std::unique_ptr<ThreadPool> pool;
  std::unique_ptr<Model> model;
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;  // absent: a base model
  std::string bos_text, eos_text;             // what the template calls bos_token and eos_token
  std::vector<int32_t> end_ids;               // ids that end an answer
  std::vector<uint8_t> key_root;  // arithmetic, weights, KV format: KV of different roots never meets
};

// Resolves MODEL, maps it, packs it (a progress bar on a terminal unless `quiet`), reads tokenizer and
// template.
Result<LoadedModel> LoadModel(const ModelOptions& options, bool quiet);

struct ModelSession {
  LoadedModel loaded;
  ResolvedEngine resolved;
  std::unique_ptr<Engine> engine;
};

// Sizes the KV pool, starts executor and engine. The session does not move afterwards.
Result<std::unique_ptr<ModelSession>> StartSession(LoadedModel loaded, const EngineOptions& options,
                                                   EngineObservers observers);

// The executor alone, for measurements below the engine.
Result<std::unique_ptr<RankExecutor>> StartExecutor(const LoadedModel& loaded, int32_t num_blocks,
                                                    int32_t num_slots);

}  // namespace firebrick
