// The table of routes. Everything not in it is 404; a known path with another method is 405.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "http/responder.h"

namespace firebrick {

struct Route {
  std::string method;
  std::string path;  // exact; one that ends in "/*" takes any non-empty rest
  std::function<void(HttpRequest, Responder)> handle;  // on an io thread: must not block
};

// Const after construction; thread: any.
class Routes {
 public:
  explicit Routes(std::vector<Route> routes) : routes_(std::move(routes)) {}
  // HEAD is served as GET.
  void Dispatch(HttpRequest request, Responder responder) const;

 private:
  std::vector<Route> routes_;
};

}  // namespace firebrick
