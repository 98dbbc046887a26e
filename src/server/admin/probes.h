// What operators and load balancers ask: health, readiness, version, metrics.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/metrics.h"
#include "server/routes.h"

namespace firebrick {

// Thread: the routes answer on io threads, from atomics and the engine's snapshot of counters; none waits for
// the engine. What it is made from outlives it.
class Probes {
 public:
  struct Parts {
    Engine* engine = nullptr;
    ServerMetrics* metrics = nullptr;
    const std::atomic<bool>* draining = nullptr;
    std::string version;
  };
  explicit Probes(Parts parts) : parts_(std::move(parts)) {}
  std::vector<Route> Routes();

 private:
  void Ready(Responder responder);

  const Parts parts_;
};

}  // namespace firebrick
