#include "config/options.h"

#include <fmt/format.h>

namespace firebrick {
namespace {

template <typename T>
std::string Describe(std::string_view name, const Setting<T>& setting) {
  return fmt::format("--{} {} ({})", name, setting.value, SettingSourceName(setting.source));
}

}  // namespace

std::string DescribeSettings(const ModelOptions& model, const EngineOptions& engine) {
  return fmt::format("{}, {}, {}, {}, {}, {}, {}, prefix caching {} ({})", Describe("isa", model.isa),
                     Describe("threads", model.threads), Describe("kv-cache-dtype", model.kv_cache_dtype),
                     Describe("kv-cache-memory", engine.kv_cache_memory_bytes),
                     Describe("max-model-len", engine.max_model_len),
                     Describe("max-num-seqs", engine.max_num_seqs),
                     Describe("max-num-batched-tokens", engine.max_num_batched_tokens),
                     engine.enable_prefix_caching.value ? "on" : "off",
                     SettingSourceName(engine.enable_prefix_caching.source));
}

}  // namespace firebrick
