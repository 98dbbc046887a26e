#include "cli/model_session.h"

#include <algorithm>
#include <filesystem>
#include <future>

#include "base/file.h"
#include "base/log.h"
#include "base/thread_name.h"
#include "cli/model_path.h"
#include "cli/progress.h"
#include "device/memory.h"
#include "exec/ops_choice.h"
#include "exec/warm_up.h"
#include "kernels/numerics_id.h"
#include "text/template_source.h"
#include "weights/checkpoint.h"

namespace firebrick {
namespace {

constexpr uint64_t kFirstReadBytes = 48 << 20;

// The ids that end an answer: the model's, and those of the vocabulary's own end-of-turn tokens.
std::vector<int32_t> EndIds(const ModelConfig& config, const Tokenizer& tokenizer) {
  std::vector<int32_t> ids(config.eos_token_ids);
  ids.insert(ids.end(), tokenizer.end_ids().begin(), tokenizer.end_ids().end());
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

// What a model knows of text.
struct LoadedText {
  Tokenizer tokenizer;
  std::optional<ChatTemplate> chat_template;
  std::string bos_text, eos_text;
};

// A model without a template is a base model; a template that does not parse is an error of the model, and is
// said.
Result<LoadedText> LoadText(const Checkpoint& checkpoint) {
  ASSIGN_OR_RETURN(Tokenizer tokenizer, checkpoint.kind() == CheckpointKind::kGguf
                                            ? Tokenizer::FromGguf(checkpoint)
                                            : Tokenizer::Open(checkpoint.folder()));
  LoadedText text{std::move(tokenizer), {}, {}, {}};
  auto source = FindTemplate(checkpoint);
  if (source.ok()) {
    auto parsed = ChatTemplate::Parse(source->text);
    if (!parsed.ok()) return parsed.status().WithContext(source->origin);
    text.chat_template = std::move(*parsed);
  } else if (source.status().code() != StatusCode::kNotFound) {
    return source.status();
  }
  const auto text_of = [&](std::optional<int32_t> id) {
    return id ? std::string(text.tokenizer.TokenText(*id)) : std::string();
  };
  text.bos_text = source.ok() && source->bos_token ? *source->bos_token : text_of(text.tokenizer.bos_id());
  text.eos_text = source.ok() && source->eos_token ? *source->eos_token : text_of(text.tokenizer.eos_id());
  return text;
}

std::string NameOfPath(const std::string& path) {
  std::filesystem::path parts(path);
  if (parts.filename().empty()) parts = parts.parent_path();
  return std::filesystem::is_directory(parts) ? parts.filename().string() : parts.stem().string();
}

std::vector<uint8_t> KeyRootOf(const Model& model, KvDType kv_dtype) {
  const Digest256& digest = model.weight_digest();
  std::vector<uint8_t> root(digest.begin(), digest.end());
  for (const char c : kNumericsId) root.push_back(static_cast<uint8_t>(c));
  root.push_back(static_cast<uint8_t>(kv_dtype));
  return root;
}

}  // namespace

Result<const Ops*> ResolveOps(const std::string& isa) {
  if (isa == "auto") return &BestOps();
  const auto level = FindIsaLevel(isa);
  const Ops* ops = level ? FindOps(*level) : nullptr;
  if (ops == nullptr) {
    std::string available;
    for (const IsaLevel known : AvailableLevels()) available += fmt::format(" {}", NameOf(known));
    return InvalidArgument("--isa {}: this CPU has no such kernels; it has:{}", isa, available);
  }
  return ops;
}

Result<KvDType> ParseKvDType(const std::string& name) {
  if (name == "bf16") return KvDType::kBF16;
  if (name == "f32") return KvDType::kF32;
  return InvalidArgument("--kv-cache-dtype {}: it is bf16 or f32", name);
}

Result<LoadedModel> LoadModel(const ModelOptions& options, bool quiet) {
  ASSIGN_OR_RETURN(const Ops* ops, ResolveOps(options.isa.value));
  ASSIGN_OR_RETURN(const KvDType kv_dtype, ParseKvDType(options.kv_cache_dtype.value));
  ASSIGN_OR_RETURN(std::string path, ResolveModelPath(options.model));
  ReadAheadOf(path, kFirstReadBytes);  // the disk works while metadata are parsed
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  FB_LOG_DEBUG("start: {} is mapped and its metadata are read", path);
  // Beside the packing: a large vocabulary takes as long as a good part of the weights.
  std::future<Result<LoadedText>> pending_text = std::async(std::launch::async, [&checkpoint] {
    NameThread("fb-text");
    Result<LoadedText> text = LoadText(checkpoint);
    FB_LOG_DEBUG("start: tokenizer and template are read");
    return text;
  });
  auto pool = std::make_unique<ThreadPool>(MakeThreadPoolOptions(ReadTopology(), options.threads.value));
  LoadOptions load{*ops, *pool};
  std::optional<ProgressBar> bar;
  if (!quiet) {
    uint64_t total = 0;
    for (const RawTensor& tensor : checkpoint.tensors()) total += tensor.data.size();
    bar.emplace("Loading " + NameOfPath(path), total);
    load.progress = [&](uint64_t done, uint64_t) { bar->Update(done); };
  }
  ASSIGN_OR_RETURN(std::unique_ptr<Model> model, Model::Load(checkpoint, load));
  if (bar) bar->Finish();
  FB_LOG_DEBUG("start: weights are packed");
  if (options.isa.value == "auto" && options.time_kernels.value) {
    ops = ChooseOps(model->matrix_shapes(), NameOfPath(path), ChoiceFolder(), pool.get());
  }
  FB_LOG_DEBUG("start: kernels are chosen");
  ASSIGN_OR_RETURN(LoadedText text, pending_text.get());
  LoadedModel loaded{.path = path,
                     .name = NameOfPath(path),
                     .ops = ops,
                     .kv_dtype = kv_dtype,
                     .pool = std::move(pool),
                     .model = std::move(model),
                     .tokenizer = std::move(text.tokenizer),
                     .chat_template = std::move(text.chat_template),
                     .bos_text = std::move(text.bos_text),
                     .eos_text = std::move(text.eos_text),
                     .end_ids = {},
                     .key_root = {}};
  loaded.end_ids = EndIds(loaded.model->config(), loaded.tokenizer);
  loaded.key_root = KeyRootOf(*loaded.model, kv_dtype);
  return loaded;
}

Result<std::unique_ptr<RankExecutor>> StartExecutor(const LoadedModel& loaded, int32_t num_blocks,
                                                    int32_t num_slots) {
  ASSIGN_OR_RETURN(KvStore store, KvStore::Create(loaded.model->MakeKvGeometry(loaded.kv_dtype), num_blocks));
  return std::make_unique<RankExecutor>(
      *loaded.model, *loaded.ops, *loaded.pool, std::move(store),
      RankExecutor::Options{.num_slots = num_slots, .num_sampled_tokens = loaded.tokenizer.vocab_size()});
}

Result<std::unique_ptr<ModelSession>> StartSession(LoadedModel loaded, const EngineOptions& options,
                                                   EngineObservers observers) {
  ASSIGN_OR_RETURN(const MemoryFacts memory, ReadMemoryFacts());
  const ModelFacts facts{.max_position = loaded.model->config().max_position,
                         .geometry = loaded.model->MakeKvGeometry(loaded.kv_dtype),
                         .key_root = loaded.key_root};
  ASSIGN_OR_RETURN(ResolvedEngine resolved, ResolveEngine(options, {memory.available_bytes}, facts));
  for (const std::string& note : resolved.notes) FB_LOG_WARN("{}", note);
  auto session =
      std::make_unique<ModelSession>(ModelSession{std::move(loaded), std::move(resolved), nullptr});
  const SchedulerConfig& scheduler = session->resolved.config.scheduler;
  ASSIGN_OR_RETURN(auto executor,
                   StartExecutor(session->loaded, scheduler.num_blocks, scheduler.max_num_seqs));
  WarmUp(executor.get(), static_cast<int32_t>(scheduler.groups.size()));
  FB_LOG_DEBUG("start: the executor is ready");
  session->engine = std::make_unique<Engine>(session->resolved.config, std::move(executor),
                                             &session->loaded.tokenizer, std::move(observers));
  return session;
}

}  // namespace firebrick
