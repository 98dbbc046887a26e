#include <algorithm>

#include "model/arch/architecture.h"
#include "model/arch/families.h"

namespace firebrick {

std::span<const Architecture* const> Architectures() {
  static constexpr const Architecture* kAll[] = {&kLlama, &kMistral, &kSmolLm3, &kQwen2, &kQwen3, &kGemma3};
  return kAll;
}

const Architecture* FindArchitecture(CheckpointKind kind, std::string_view name) {
  for (const Architecture* architecture : Architectures()) {
    const auto names =
        kind == CheckpointKind::kGguf ? architecture->gguf_names : architecture->hf_model_types;
    if (std::find(names.begin(), names.end(), name) != names.end()) return architecture;
  }
  return nullptr;
}

}  // namespace firebrick
