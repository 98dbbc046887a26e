#include "server/routes.h"

#include <fmt/format.h>

#include "server/api_error.h"

namespace firebrick {
namespace {

bool Matches(std::string_view pattern, std::string_view path) {
  if (!pattern.ends_with("/*")) return pattern == path;
  const std::string_view prefix = pattern.substr(0, pattern.size() - 1);
  return path.size() > prefix.size() && path.starts_with(prefix);
}

}  // namespace

void Routes::Dispatch(HttpRequest request, Responder responder) const {
  const std::string_view method = request.method == "HEAD" ? std::string_view("GET") : request.method;
  std::string allowed;
  for (const Route& route : routes_) {
    if (!Matches(route.path, request.path)) continue;
    if (route.method == method) return route.handle(std::move(request), std::move(responder));
    if (!allowed.empty()) allowed += ", ";
    allowed += route.method;
    if (route.method == "GET") allowed += ", HEAD";
  }
  if (allowed.empty()) {
    return responder.Send(
        HttpError(404, "there is no such path: docs/guide/api.md lists what is served").ToResponse());
  }
  HttpResponse response = HttpError(405, fmt::format("this path takes {}", allowed)).ToResponse();
  response.headers.push_back({"Allow", allowed});
  responder.Send(std::move(response));
}

}  // namespace firebrick
