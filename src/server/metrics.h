// Metrics under vLLM's names, so that dashboards, autoscalers and routers work unchanged.
#pragma once

#include <memory>
#include <string>

#include "engine/engine.h"

namespace firebrick {

// Histograms fed by the engine's observers, and the engine's counters read at each scrape. Thread: any.
// Made before the engine, which holds its observers; outlives it.
class ServerMetrics {
 public:
  ServerMetrics(const std::string& model_name, int32_t block_tokens);
  ~ServerMetrics();
  ServerMetrics(const ServerMetrics&) = delete;
  ServerMetrics& operator=(const ServerMetrics&) = delete;

  EngineObservers Observers();
  void ObserveParams(int num_choices, int max_tokens);
  // Prometheus text format 0.0.4.
  std::string Render(const EngineCounters& counters);

 private:
  struct Families;
  std::unique_ptr<Families> families_;
};

}  // namespace firebrick
