#include "model/arch/decoder_names.h"

#include <string_view>
#include <utility>

namespace firebrick {
namespace {

std::string_view GgufLeaf(WeightRole role) {
  switch (role) {
    case WeightRole::kEmbedding:
      return "token_embd.weight";
    case WeightRole::kOutput:
      return "output.weight";
    case WeightRole::kFinalNorm:
      return "output_norm.weight";
    case WeightRole::kRopeDivisors:
      return "rope_freqs.weight";
    case WeightRole::kAttentionNorm:
      return "attn_norm.weight";
    case WeightRole::kQuery:
      return "attn_q.weight";
    case WeightRole::kKey:
      return "attn_k.weight";
    case WeightRole::kValue:
      return "attn_v.weight";
    case WeightRole::kQueryBias:
      return "attn_q.bias";
    case WeightRole::kKeyBias:
      return "attn_k.bias";
    case WeightRole::kValueBias:
      return "attn_v.bias";
    case WeightRole::kQueryNorm:
      return "attn_q_norm.weight";
    case WeightRole::kKeyNorm:
      return "attn_k_norm.weight";
    case WeightRole::kAttentionOutput:
      return "attn_output.weight";
    case WeightRole::kAttentionOutputBias:
      return "attn_output.bias";
    case WeightRole::kPostAttentionNorm:
      return "post_attention_norm.weight";
    case WeightRole::kFfnNorm:
      return "ffn_norm.weight";
    case WeightRole::kGate:
      return "ffn_gate.weight";
    case WeightRole::kUp:
      return "ffn_up.weight";
    case WeightRole::kGateBias:
      return "ffn_gate.bias";
    case WeightRole::kUpBias:
      return "ffn_up.bias";
    case WeightRole::kDown:
      return "ffn_down.weight";
    case WeightRole::kDownBias:
      return "ffn_down.bias";
    case WeightRole::kPostFfnNorm:
      return "post_ffw_norm.weight";
  }
  return "";
}

std::string_view HfLeaf(WeightRole role, bool sandwich_norms) {
  switch (role) {
    case WeightRole::kEmbedding:
      return "embed_tokens.weight";
    case WeightRole::kFinalNorm:
      return "norm.weight";
    case WeightRole::kAttentionNorm:
      return "input_layernorm.weight";
    case WeightRole::kQuery:
      return "self_attn.q_proj.weight";
    case WeightRole::kKey:
      return "self_attn.k_proj.weight";
    case WeightRole::kValue:
      return "self_attn.v_proj.weight";
    case WeightRole::kQueryBias:
      return "self_attn.q_proj.bias";
    case WeightRole::kKeyBias:
      return "self_attn.k_proj.bias";
    case WeightRole::kValueBias:
      return "self_attn.v_proj.bias";
    case WeightRole::kQueryNorm:
      return "self_attn.q_norm.weight";
    case WeightRole::kKeyNorm:
      return "self_attn.k_norm.weight";
    case WeightRole::kAttentionOutput:
      return "self_attn.o_proj.weight";
    case WeightRole::kAttentionOutputBias:
      return "self_attn.o_proj.bias";
    case WeightRole::kPostAttentionNorm:
      return "post_attention_layernorm.weight";
    case WeightRole::kFfnNorm:
      return sandwich_norms ? "pre_feedforward_layernorm.weight" : "post_attention_layernorm.weight";
    case WeightRole::kGate:
      return "mlp.gate_proj.weight";
    case WeightRole::kUp:
      return "mlp.up_proj.weight";
    case WeightRole::kGateBias:
      return "mlp.gate_proj.bias";
    case WeightRole::kUpBias:
      return "mlp.up_proj.bias";
    case WeightRole::kDown:
      return "mlp.down_proj.weight";
    case WeightRole::kDownBias:
      return "mlp.down_proj.bias";
    case WeightRole::kPostFfnNorm:
      return "post_feedforward_layernorm.weight";
    case WeightRole::kOutput:
    case WeightRole::kRopeDivisors:
      return "";
  }
  return "";
}

}  // namespace

DecoderNames::DecoderNames(const Checkpoint& checkpoint, bool sandwich_norms)
    : kind_(checkpoint.kind()), sandwich_norms_(sandwich_norms), body_("model."), output_("lm_head.weight") {
  static constexpr std::pair<std::string_view, std::string_view> kWrapped[] = {
      {"language_model.model.", "language_model.lm_head.weight"},
      {"model.language_model.", "lm_head.weight"}};
  for (const auto& [body, output] : kWrapped) {
    if (checkpoint.FindTensor(std::string(body) + "embed_tokens.weight") != nullptr) {
      body_ = body;
      output_ = output;
    }
  }
}

std::string DecoderNames::Of(WeightRole role, int32_t layer) const {
  if (kind_ == CheckpointKind::kGguf) {
    const std::string leaf(GgufLeaf(role));
    return layer < 0 ? leaf : fmt::format("blk.{}.{}", layer, leaf);
  }
  if (role == WeightRole::kOutput) return output_;
  const std::string leaf(HfLeaf(role, sandwich_norms_));
  return layer < 0 ? body_ + leaf : fmt::format("{}layers.{}.{}", body_, layer, leaf);
}

}  // namespace firebrick
