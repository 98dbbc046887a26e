#include <ctime>
#include <memory>

#include "base/checksum.h"
#include "base/file.h"
#include "base/log.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "cli/model_session.h"
#include "cli/serve.h"
#include "server/api_server.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxTemplateBytes = 4ULL << 20;

struct ServeCommand {
  ModelOptions model;
  EngineOptions engine;
  ServeOptions serve;
  std::string log_level = "info";
};

ServedModel DescribeModel(const ServeOptions& options, const ModelSession& session) {
  const LoadedModel& loaded = session.loaded;
  ServedModel served;
  served.names =
      options.served_model_names.empty() ? std::vector<std::string>{loaded.name} : options.served_model_names;
  served.created = static_cast<int64_t>(std::time(nullptr));
  served.fingerprint =
      "fb_" + ToHex(Sha256Of(std::string(loaded.key_root.begin(), loaded.key_root.end()))).substr(0, 12);
  served.max_model_len = session.resolved.config.scheduler.max_model_len;
  served.vocab_size = loaded.model->config().vocab_size;
  served.end_ids = loaded.end_ids;
  served.defaults = loaded.model->config().generation;
  served.tokenizer = &loaded.tokenizer;
  served.chat_template = loaded.chat_template ? &*loaded.chat_template : nullptr;
  served.bos_token = loaded.bos_text;
  served.eos_token = loaded.eos_text;
  return served;
}

Status Serve(const ServeCommand& command) {
  RETURN_IF_ERROR(ConfigureLog(command.log_level));
  FB_LOG_INFO("{}", DescribeSettings(command.model, command.engine));
  ShutdownSignals signals;
  ASSIGN_OR_RETURN(LoadedModel loaded, LoadModel(command.model, /*quiet=*/false));
  if (!command.serve.chat_template_path.empty()) {
    ASSIGN_OR_RETURN(const std::string text, ReadFile(command.serve.chat_template_path, kMaxTemplateBytes));
    auto parsed = ChatTemplate::Parse(text);
    if (!parsed.ok()) return parsed.status().WithContext(command.serve.chat_template_path);
    loaded.chat_template = std::move(*parsed);
  }
  const std::string name =
      command.serve.served_model_names.empty() ? loaded.name : command.serve.served_model_names.front();
  ServerMetrics metrics(name, kBlockTokens);
  ASSIGN_OR_RETURN(const auto session, StartSession(std::move(loaded), command.engine, metrics.Observers()));
  ApiServerConfig config;
  config.http.host = command.serve.host;
  config.http.port = static_cast<uint16_t>(command.serve.port);
  config.http.threads = command.serve.http_threads;
  config.http.limits.max_connections = static_cast<size_t>(command.serve.max_connections);
  config.version = FIREBRICK_VERSION;
  ASSIGN_OR_RETURN(const auto server,
                   ApiServer::Start(std::move(config), DescribeModel(command.serve, *session),
                                    session->engine.get(), &metrics));
  const ServingFacts facts{.host = command.serve.host,
                           .port = server->port(),
                           .model = name,
                           .max_model_len = session->resolved.config.scheduler.max_model_len,
                           .kv_tokens = session->resolved.kv_tokens};
  ServeUntilSignal(facts, std::chrono::seconds(command.serve.shutdown_timeout_s), &signals, server.get(),
                   session->engine.get());
  return OkStatus();
}

}  // namespace

CommandAction DeclareServe(FlagSet* flags) {
  auto command = std::make_shared<ServeCommand>();
  AddModelFlags(&command->model, flags);
  AddContextFlags(&command->engine, flags);
  AddBatchFlags(&command->engine, flags);
  AddServeFlags(&command->serve, flags);
  flags->Choice("--log-level", {"debug", "info", "warn", "error", "off"}, "What goes to standard error",
                &command->log_level);
  flags->Example("firebrick serve model.gguf --port 8000 --max-model-len 8192");
  return [command] { return Serve(*command); };
}

}  // namespace firebrick
