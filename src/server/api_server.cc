#include "server/api_server.h"

#include <iterator>
#include <utility>
#include <vector>

#include "server/admin/probes.h"
#include "server/api_error.h"
#include "server/openai/openai_api.h"
#include "server/routes.h"
#include "server/work_pool.h"

namespace firebrick {
namespace {

std::vector<Route> Joined(std::vector<Route> first, std::vector<Route> second) {
  first.insert(first.end(), std::make_move_iterator(second.begin()), std::make_move_iterator(second.end()));
  return first;
}

}  // namespace

class ApiServer::Impl {
 public:
  Impl(const ApiServerConfig& config, ServedModel served, Engine* engine, ServerMetrics* metrics)
      : model(std::move(served)),
        openai({.model = &model,
                .limits = config.body_limits,
                .engine = engine,
                .metrics = metrics,
                .pool = &pool,
                .draining = &draining}),
        probes({.engine = engine, .metrics = metrics, .draining = &draining, .version = config.version}),
        routes(Joined(openai.Routes(), probes.Routes())),
        pool(config.text_threads, static_cast<size_t>(config.text_queue)) {}

  std::atomic<bool> draining{false};
  const ServedModel model;
  OpenAiApi openai;
  Probes probes;
  const Routes routes;
  WorkPool pool;                     // its jobs use what stands above
  std::unique_ptr<HttpServer> http;  // last: stopped first
};

ApiServer::ApiServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ApiServer::~ApiServer() = default;

Result<std::unique_ptr<ApiServer>> ApiServer::Start(ApiServerConfig config, ServedModel model, Engine* engine,
                                                    ServerMetrics* metrics) {
  auto impl = std::make_unique<Impl>(config, std::move(model), engine, metrics);
  config.http.format_error = [](int status, std::string_view message) {
    return HttpError(status, message).ToJson();
  };
  ASSIGN_OR_RETURN(impl->http,
                   HttpServer::Start(std::move(config.http),
                                     [routes = &impl->routes](HttpRequest request, Responder responder) {
                                       routes->Dispatch(std::move(request), std::move(responder));
                                     }));
  return std::unique_ptr<ApiServer>(new ApiServer(std::move(impl)));
}

uint16_t ApiServer::port() const { return impl_->http->port(); }
void ApiServer::BeginDrain() { impl_->draining = true; }
void ApiServer::Stop(std::chrono::milliseconds grace) { impl_->http->Stop(grace); }

}  // namespace firebrick
