#include "model/decoder_pass.h"

#include <algorithm>

#include "kernels/rope_table.h"

namespace firebrick {
namespace {

// Tokens whose feed-forward is computed at once: bounds gate_up at 512 rows.
constexpr int64_t kFeedForwardRows = 512;
// Queries of one attention item, of which a kernel works on kAttentionRows (query, head) pairs at once.
constexpr int64_t kQueryBlock = 32;

int64_t AttentionStride(int32_t head_dim) {
  constexpr int64_t kLine = 16;  // floats of a cache line
  return (static_cast<int64_t>(AttentionScratchFloats(head_dim)) + kLine - 1) / kLine * kLine;
}

}  // namespace

DecoderPass::DecoderPass(const ModelConfig& config, const DecoderWeights& weights,
                         const ForwardContext& context, ForwardBuffers& buffers)
    : config_(config),
      weights_(weights),
      context_(context),
      ops_(context.ops),
      pool_(context.pool),
      buffers_(buffers),
      num_tokens_(context.batch.num_tokens()),
      hidden_(config.hidden_size),
      q_width_(int64_t{config.num_heads} * config.head_dim),
      kv_width_(int64_t{config.num_kv_heads} * config.head_dim),
      qkv_width_(q_width_ + 2 * kv_width_) {
  for (const auto& frequencies : weights.rope_frequencies) {
    max_pairs_ = std::max(max_pairs_, static_cast<int64_t>(frequencies.size()));
  }
}

Status DecoderPass::Reserve() {
  const auto ropes = static_cast<int64_t>(weights_.rope_frequencies.size());
  RETURN_IF_ERROR(buffers_.residual.Reserve(num_tokens_ * hidden_));
  RETURN_IF_ERROR(buffers_.normed.Reserve(num_tokens_ * hidden_));
  RETURN_IF_ERROR(buffers_.qkv.Reserve(num_tokens_ * qkv_width_));
  RETURN_IF_ERROR(buffers_.attended.Reserve(num_tokens_ * q_width_));
  RETURN_IF_ERROR(buffers_.branch.Reserve(num_tokens_ * hidden_));
  RETURN_IF_ERROR(buffers_.gate_up.Reserve(std::min(num_tokens_, kFeedForwardRows) * 2 * config_.ffn_size));
  RETURN_IF_ERROR(buffers_.rope_cos.Reserve(ropes * num_tokens_ * max_pairs_));
  RETURN_IF_ERROR(buffers_.rope_sin.Reserve(ropes * num_tokens_ * max_pairs_));
  return buffers_.attention.Reserve(pool_.num_threads() * AttentionStride(config_.head_dim));
}

Status DecoderPass::Run() {
  RETURN_IF_ERROR(Reserve());
  CutWork();
  FillRopes();
  Embed();
  for (int32_t layer = 0; layer < config_.num_layers; ++layer) RETURN_IF_ERROR(RunLayer(layer));
  return OkStatus();
}

void DecoderPass::CutWork() {
  buffers_.spans.clear();
  buffers_.query_blocks.clear();
  for (const BatchSequence& sequence : context_.batch.sequences) {
    int32_t done = 0;
    while (done < sequence.num_tokens) {
      const int32_t position = sequence.first_position + done;
      const int32_t count = std::min(sequence.num_tokens - done, kBlockTokens - position % kBlockTokens);
      buffers_.spans.push_back({&sequence, sequence.token_begin + done, count, position});
      done += count;
    }
    for (int64_t begin = 0; begin < sequence.num_tokens; begin += kQueryBlock) {
      const int64_t end = std::min(begin + kQueryBlock, int64_t{sequence.num_tokens});
      buffers_.query_blocks.push_back({&sequence, {begin, end}});
    }
  }
}

void DecoderPass::FillRopes() {
  pool_.ParallelFor(num_tokens_, [&](int64_t begin, int64_t end, int32_t) {
    for (size_t rope = 0; rope < weights_.rope_frequencies.size(); ++rope) {
      const std::vector<float>& frequencies = weights_.rope_frequencies[rope];
      const auto magnitude = static_cast<float>(config_.ropes[rope].attention_factor);
      for (int64_t token = begin; token < end; ++token) {
        const int64_t at = (static_cast<int64_t>(rope) * num_tokens_ + token) * max_pairs_;
        FillRopeRow(context_.batch.positions[static_cast<size_t>(token)], frequencies.data(),
                    static_cast<int64_t>(frequencies.size()), magnitude, buffers_.rope_cos.data() + at,
                    buffers_.rope_sin.data() + at);
      }
    }
  });
}

void DecoderPass::Embed() {
  pool_.ParallelFor(num_tokens_, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t token = begin; token < end; ++token) {
      float* row = buffers_.residual.data() + token * hidden_;
      weights_.embedding.ReadRow(context_.batch.token_ids[static_cast<size_t>(token)], row);
      if (config_.embedding_scale != 1.0F) ops_.scale(row, config_.embedding_scale, hidden_, row);
    }
  });
}

Status DecoderPass::RunLayer(int32_t index) {
  const DecoderLayer& layer = weights_.layers[static_cast<size_t>(index)];
  RETURN_IF_ERROR(RunAttention(layer, index));
  return RunFeedForward(layer);
}

Status DecoderPass::PrepareNormed(const std::vector<float>& norm, const FusedLinear& reader,
                                  IndexRange tokens) {
  RETURN_IF_ERROR(buffers_.input.Reshape(tokens.size(), hidden_, reader.Needs(ops_)));
  const float* residual = buffers_.residual.data() + tokens.begin * hidden_;
  float* normed = buffers_.normed.data();
  pool_.ParallelFor(tokens.size(), [&](int64_t begin, int64_t end, int32_t) {
    ops_.rms_norm(residual + begin * hidden_, hidden_, end - begin, hidden_, norm.data(), config_.norm_eps,
                  normed + begin * hidden_, hidden_);
    ops_.prepare_activation(normed, hidden_, {begin, end}, &buffers_.input);
  });
  return OkStatus();
}

void DecoderPass::AddBranch(const std::vector<float>& post_norm, int64_t begin, int64_t end) {
  float* branch = buffers_.branch.data() + begin * hidden_;
  float* residual = buffers_.residual.data() + begin * hidden_;
  if (!post_norm.empty()) {
    ops_.rms_norm(branch, hidden_, end - begin, hidden_, post_norm.data(), config_.norm_eps, branch, hidden_);
  }
  ops_.add(residual, branch, (end - begin) * hidden_, residual);
}

Status DecoderPass::RunAttention(const DecoderLayer& layer, int32_t index) {
  RETURN_IF_ERROR(PrepareNormed(layer.attention_norm, layer.qkv, {0, num_tokens_}));
  layer.qkv.Run(ops_, pool_, buffers_.input, buffers_.qkv.data(), qkv_width_);
  const LayerKvPlace place = layer.kv_place;
  RotateAndStore(layer, index, place);
  Attend(index, place);
  RETURN_IF_ERROR(buffers_.inner.Reshape(num_tokens_, q_width_, layer.attention_output.Needs(ops_)));
  pool_.ParallelFor(num_tokens_, [&](int64_t begin, int64_t end, int32_t) {
    ops_.prepare_activation(buffers_.attended.data(), q_width_, {begin, end}, &buffers_.inner);
  });
  layer.attention_output.Run(ops_, pool_, buffers_.inner, buffers_.branch.data(), hidden_);
  pool_.ParallelFor(num_tokens_, [&](int64_t begin, int64_t end, int32_t) {
    AddBranch(layer.post_attention_norm, begin, end);
  });
  return OkStatus();
}

void DecoderPass::RotateSpan(const DecoderLayer& layer, int32_t index, const TokenSpan& span) const {
  const int8_t rope = config_.layer_rope[static_cast<size_t>(index)];
  const int64_t head_dim = config_.head_dim;
  for (int64_t token = span.token_begin; token < span.token_begin + span.num_tokens; ++token) {
    float* query = buffers_.qkv.data() + token * qkv_width_;
    float* key = query + q_width_;
    if (!layer.query_norm.empty()) {
      ops_.rms_norm(query, head_dim, config_.num_heads, head_dim, layer.query_norm.data(), config_.norm_eps,
                    query, head_dim);
      ops_.rms_norm(key, head_dim, config_.num_kv_heads, head_dim, layer.key_norm.data(), config_.norm_eps,
                    key, head_dim);
    }
    if (rope < 0) continue;
    const auto pairs = static_cast<int64_t>(weights_.rope_frequencies[static_cast<size_t>(rope)].size());
    const int64_t at = (rope * num_tokens_ + token) * max_pairs_;
    const float* cosines = buffers_.rope_cos.data() + at;
    const float* sines = buffers_.rope_sin.data() + at;
    ops_.rope_half(query, config_.num_heads + config_.num_kv_heads, head_dim, pairs, cosines, sines);
  }
}

void DecoderPass::RotateAndStore(const DecoderLayer& layer, int32_t index, LayerKvPlace place) {
  const auto num_spans = static_cast<int64_t>(buffers_.spans.size());
  pool_.ParallelFor(num_spans, [&](int64_t begin, int64_t end, int32_t) {
    for (int64_t i = begin; i < end; ++i) {
      const TokenSpan& span = buffers_.spans[static_cast<size_t>(i)];
      RotateSpan(layer, index, span);
      const float* keys = buffers_.qkv.data() + span.token_begin * qkv_width_ + q_width_;
      for (int32_t head = 0; head < config_.num_kv_heads; ++head) {
        KvWriteArgs args;
        args.pages = PagesOf(*span.sequence, place, head);
        args.first_position = span.first_position;
        args.num_tokens = span.num_tokens;
        args.keys = keys + int64_t{head} * config_.head_dim;
        args.values = args.keys + kv_width_;
        args.key_stride = qkv_width_;
        args.value_stride = qkv_width_;
        ops_.kv_write(args);
      }
    }
  });
}

void DecoderPass::Attend(int32_t index, LayerKvPlace place) {
  const int32_t heads_per_kv = config_.num_heads / config_.num_kv_heads;
  const int64_t scratch_stride = AttentionStride(config_.head_dim);
  const auto num_items = static_cast<int64_t>(buffers_.query_blocks.size()) * config_.num_kv_heads;
  pool_.ParallelForChunks(num_items, 1, [&](int64_t begin, int64_t end, int32_t thread) {
    for (int64_t item = begin; item < end; ++item) {
      const QueryBlock& block = buffers_.query_blocks[static_cast<size_t>(item / config_.num_kv_heads)];
      const auto head = static_cast<int32_t>(item % config_.num_kv_heads);
      const BatchSequence& sequence = *block.sequence;
      const int64_t column = int64_t{head} * heads_per_kv * config_.head_dim;
      AttentionArgs args;
      args.pages = PagesOf(sequence, place, head);
      args.heads_per_kv = heads_per_kv;
      args.window = config_.layer_windows[static_cast<size_t>(index)];
      args.scale = config_.attention_scale;
      args.first_position = sequence.first_position;
      args.queries = buffers_.qkv.data() + sequence.token_begin * qkv_width_ + column;
      args.query_stride = qkv_width_;
      args.outputs = buffers_.attended.data() + sequence.token_begin * q_width_ + column;
      args.output_stride = q_width_;
      ops_.attention(args, block.queries, buffers_.attention.data() + thread * scratch_stride);
    }
  });
}

Status DecoderPass::RunFeedForward(const DecoderLayer& layer) {
  const int64_t ffn = config_.ffn_size;
  const auto activate = config_.activation == GateFunction::kSilu ? ops_.silu_mul : ops_.gelu_tanh_mul;
  for (int64_t first = 0; first < num_tokens_; first += kFeedForwardRows) {
    const int64_t count = std::min(kFeedForwardRows, num_tokens_ - first);
    float* gate_up = buffers_.gate_up.data();
    RETURN_IF_ERROR(PrepareNormed(layer.ffn_norm, layer.gate_up, {first, first + count}));
    layer.gate_up.Run(ops_, pool_, buffers_.input, gate_up, 2 * ffn);
    RETURN_IF_ERROR(buffers_.inner.Reshape(count, ffn, layer.down.Needs(ops_)));
    pool_.ParallelFor(count, [&](int64_t begin, int64_t end, int32_t) {
      for (int64_t row = begin; row < end; ++row) {
        float* gate = gate_up + row * 2 * ffn;
        activate(gate, gate + ffn, ffn, gate);
      }
      ops_.prepare_activation(gate_up, 2 * ffn, {begin, end}, &buffers_.inner);
    });
    layer.down.Run(ops_, pool_, buffers_.inner, buffers_.branch.data() + first * hidden_, hidden_);
  }
  pool_.ParallelFor(num_tokens_,
                    [&](int64_t begin, int64_t end, int32_t) { AddBranch(layer.post_ffn_norm, begin, end); });
  return OkStatus();
}

Status DecoderPass::Logits(IndexRange rows, float* logits) {
  const int32_t* tokens = context_.batch.logit_tokens.data() + rows.begin;
  RETURN_IF_ERROR(buffers_.input.Reshape(rows.size(), hidden_, weights_.output.Needs(ops_)));
  pool_.ParallelFor(rows.size(), [&](int64_t begin, int64_t end, int32_t) {
    float* normed = buffers_.normed.data();
    for (int64_t row = begin; row < end; ++row) {
      const float* residual = buffers_.residual.data() + tokens[row] * hidden_;
      ops_.rms_norm(residual, hidden_, 1, hidden_, weights_.final_norm.data(), config_.norm_eps,
                    normed + row * hidden_, hidden_);
    }
    ops_.prepare_activation(normed, hidden_, {begin, end}, &buffers_.input);
  });
  weights_.output.Run(ops_, pool_, buffers_.input, logits, config_.vocab_size);
  return OkStatus();
}

KvHeadPages DecoderPass::PagesOf(const BatchSequence& sequence, LayerKvPlace place, int32_t head) const {
  const KvGeometry& geometry = context_.kv_geometry;
  KvHeadPages pages;
  pages.dtype = geometry.dtype;
  pages.head_dim = config_.head_dim;
  pages.arena = context_.kv_arena;
  pages.page_bytes = geometry.page_bytes();
  pages.key_offset = geometry.KeyOffset(place.layer_in_group, head);
  pages.value_offset = geometry.ValueOffset(place.layer_in_group, head);
  pages.block_table = context_.batch.block_tables[static_cast<size_t>(sequence.table_begin + place.group)];
  return pages;
}

}  // namespace firebrick
