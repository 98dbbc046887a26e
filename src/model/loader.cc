#include "model/loader.h"

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>

#include "model/read_ahead.h"
#include "model/rope.h"
#include "model/weight_table.h"
#include "weights/expand.h"

namespace firebrick {
namespace {

// File bytes that one thread packs at a time; small enough to stay in a core's second cache from the checksum
// to the packing.
constexpr int64_t kPieceBytes = 512 << 10;
// File bytes that stay mapped until they are dropped together: each drop interrupts the other cores.
constexpr int64_t kDropBytes = 16 << 20;

// Where row `row` of the model lies in a tensor whose heads hold their rows in adjacent-pair order.
int64_t AdjacentPairSource(int64_t row, int64_t head_dim) {
  const int64_t within = row % head_dim;
  const int64_t half = head_dim / 2;
  return row - within + 2 * (within % half) + within / half;
}

void AppendRows(const CanonicalRows& from, CanonicalRows& to) {
  const auto append = [](const auto& source, auto& target) {
    target.insert(target.end(), source.begin(), source.end());
  };
  append(from.f32, to.f32);
  append(from.half, to.half);
  append(from.codes, to.codes);
  append(from.scales, to.scales);
  append(from.mins, to.mins);
  to.num_rows += from.num_rows;
}

// Buffers of one thread.
struct PieceScratch {
  CanonicalRows rows;
  CanonicalRows single;
};

class DecoderLoader {
 public:
  DecoderLoader(const Checkpoint& checkpoint, const ModelConfig& config, const LoadOptions& options)
      : checkpoint_(checkpoint),
        config_(config),
        options_(options),
        scratch_(static_cast<size_t>(options.pool.num_threads())) {}

  Result<LoadedDecoder> Load() {
    ASSIGN_OR_RETURN(const std::vector<WeightSlot> slots, BuildWeightTable(checkpoint_, config_));
    std::vector<const RawTensor*> tensors;
    for (const WeightSlot& slot : slots) {
      total_bytes_ += slot.tensor->data.size();
      tensors.push_back(slot.tensor);
    }
    ReadAhead read_ahead(checkpoint_, std::move(tensors));
    read_ahead_ = &read_ahead;
    out_.weights.layers.resize(static_cast<size_t>(config_.num_layers));
    ropes_ = config_.ropes;
    HashConfig();
    for (const WeightSlot& slot : slots) {
      HashName(slot);
      RETURN_IF_ERROR(LoadSlot(slot));
      done_bytes_ += slot.tensor->data.size();
      if (options_.progress) options_.progress(done_bytes_, total_bytes_);
    }
    for (const RopeConfig& rope : ropes_) out_.weights.rope_frequencies.push_back(RopeFrequencies(rope));
    out_.digest = hasher_.Finish();
    return std::move(out_);
  }

 private:
  Status LoadSlot(const WeightSlot& slot) {
    DecoderWeights& weights = out_.weights;
    switch (slot.role) {
      case WeightRole::kEmbedding:
        return config_.tied_embeddings ? LoadMatrix(slot, weights.output) : LoadEmbedding(slot);
      case WeightRole::kOutput:
        return LoadMatrix(slot, weights.output);
      case WeightRole::kFinalNorm:
        return LoadNorm(slot, weights.final_norm);
      case WeightRole::kRopeDivisors:
        return LoadRopeDivisors(slot);
      default:
        return LoadLayerSlot(slot, weights.layers[static_cast<size_t>(slot.layer)]);
    }
  }

  Status LoadLayerSlot(const WeightSlot& slot, DecoderLayer& layer) {
    switch (slot.role) {
      case WeightRole::kAttentionNorm:
        return LoadNorm(slot, layer.attention_norm);
      case WeightRole::kQueryNorm:
        return LoadNorm(slot, layer.query_norm);
      case WeightRole::kKeyNorm:
        return LoadNorm(slot, layer.key_norm);
      case WeightRole::kPostAttentionNorm:
        return LoadNorm(slot, layer.post_attention_norm);
      case WeightRole::kFfnNorm:
        return LoadNorm(slot, layer.ffn_norm);
      case WeightRole::kPostFfnNorm:
        return LoadNorm(slot, layer.post_ffn_norm);
      case WeightRole::kQuery:
      case WeightRole::kKey:
      case WeightRole::kValue:
        return LoadMatrix(slot, layer.qkv);
      case WeightRole::kAttentionOutput:
        return LoadMatrix(slot, layer.attention_output);
      case WeightRole::kGate:
      case WeightRole::kUp:
        return LoadMatrix(slot, layer.gate_up);
      case WeightRole::kDown:
        return LoadMatrix(slot, layer.down);
      case WeightRole::kQueryBias:
        return LoadBias(slot, layer.qkv, 0);
      case WeightRole::kKeyBias:
        return LoadBias(slot, layer.qkv, 1);
      case WeightRole::kValueBias:
        return LoadBias(slot, layer.qkv, 2);
      case WeightRole::kAttentionOutputBias:
        return LoadBias(slot, layer.attention_output, 0);
      case WeightRole::kGateBias:
        return LoadBias(slot, layer.gate_up, 0);
      case WeightRole::kUpBias:
        return LoadBias(slot, layer.gate_up, 1);
      case WeightRole::kDownBias:
        return LoadBias(slot, layer.down, 0);
      default:
        break;
    }
    return Status(StatusCode::kInternal, "a weight slot without a place in the layer");
  }

  std::vector<float> ReadVector(const WeightSlot& slot) {
    const RawTensor& tensor = *slot.tensor;
    const auto size = static_cast<size_t>(tensor.NumElements());
    std::vector<float> values(size);
    DequantizeRows(tensor.type, tensor.data.data(), tensor.NumElements(), 0, 1, values.data());
    HashPiece(Xxh3Of(tensor.data));
    Drop(tensor, 0, tensor.data.size());
    read_ahead_->Advance(tensor.data.size());
    if (!slot.adjacent_pairs) return values;
    std::vector<float> ordered(size);
    for (size_t row = 0; row < size; ++row) {
      ordered[row] =
          values[static_cast<size_t>(AdjacentPairSource(static_cast<int64_t>(row), config_.head_dim))];
    }
    return ordered;
  }

  Status LoadNorm(const WeightSlot& slot, std::vector<float>& out) {
    out = ReadVector(slot);
    for (float& weight : out) weight += config_.norm_offset;
    return OkStatus();
  }

  Status LoadBias(const WeightSlot& slot, FusedLinear& linear, size_t index) {
    linear.SetBias(index, ReadVector(slot));
    return OkStatus();
  }

  Status LoadRopeDivisors(const WeightSlot& slot) {
    RopeConfig& rope = ropes_.at(0);
    rope.freq_divisors = ReadVector(slot);
    const auto bad = [](float divisor) { return !(divisor > 0.0F); };
    if (std::any_of(rope.freq_divisors.begin(), rope.freq_divisors.end(), bad)) {
      return DataLoss(
          "{}: tensor '{}' holds a divisor that is not positive; the file is damaged, fetch it again",
          checkpoint_.path(), slot.tensor->name);
    }
    return OkStatus();
  }

  Status LoadEmbedding(const WeightSlot& slot) {
    const RawTensor& tensor = *slot.tensor;
    ASSIGN_OR_RETURN(AlignedBuffer bytes,
                     AlignedBuffer::Allocate(MemoryAccount::kWeights, tensor.data.size()));
    out_.weights.embedding = EmbeddingTable(std::move(bytes), tensor.type, tensor.cols());
    std::byte* target = out_.weights.embedding.bytes();
    ForEachPiece(tensor, 1, [&](IndexRange rows, std::span<const std::byte> piece, PieceScratch&) {
      std::memcpy(target + RowBytes(tensor) * rows.begin, piece.data(), piece.size());
    });
    return OkStatus();
  }

  Status LoadMatrix(const WeightSlot& slot, FusedLinear& linear) {
    const RawTensor& tensor = *slot.tensor;
    ASSIGN_OR_RETURN(PackedLinear packed,
                     PackedLinear::Create(PackedFormat(tensor.type), tensor.rows(), tensor.cols()));
    // A piece is a whole number of panels, and of heads where rows change places inside them.
    const int64_t unit =
        slot.adjacent_pairs ? std::lcm(kPanelOutputs, int64_t{config_.head_dim}) : kPanelOutputs;
    // Whether the rows lie in the file as they are packed.
    const bool as_they_lie = !slot.adjacent_pairs && packed.format() == CanonicalFormatOf(tensor.type);
    ForEachPiece(tensor, unit, [&](IndexRange rows, std::span<const std::byte> bytes, PieceScratch& scratch) {
      for (int64_t begin = rows.begin; begin < rows.end; begin += kPanelOutputs) {
        const int64_t count = std::min(kPanelOutputs, rows.end - begin);
        const std::byte* at = bytes.data() + (begin - rows.begin) * RowBytes(tensor);
        if (as_they_lie && packed.TryPackPanelFrom(begin / kPanelOutputs, at)) continue;
        ExpandPanel(slot, begin, count, scratch);
        packed.PackPanel(begin / kPanelOutputs, scratch.rows);
      }
    });
    const MatrixShape shape{packed.format(), packed.num_outputs(), packed.num_cols()};
    if (std::find(out_.shapes.begin(), out_.shapes.end(), shape) == out_.shapes.end()) {
      out_.shapes.push_back(shape);
    }
    linear.Append(std::move(packed));
    return OkStatus();
  }

  CanonicalFormat PackedFormat(WeightType type) const {
    return options_.expand_to_f32 ? CanonicalFormat{} : CanonicalFormatOf(type);
  }

  // Rows as they lie in the file, in the form that is packed.
  void Expand(const RawTensor& tensor, int64_t row_begin, int64_t num_rows, CanonicalRows& out) const {
    if (!options_.expand_to_f32) {
      ExpandRows(tensor.type, tensor.data.data(), tensor.cols(), row_begin, num_rows, &out);
      return;
    }
    out.format = CanonicalFormat{};
    out.num_rows = num_rows;
    out.num_cols = tensor.cols();
    out.f32.resize(static_cast<size_t>(num_rows * tensor.cols()));
    DequantizeRows(tensor.type, tensor.data.data(), tensor.cols(), row_begin, num_rows, out.f32.data());
  }

  // Rows as the model numbers them.
  void ExpandPanel(const WeightSlot& slot, int64_t row_begin, int64_t num_rows, PieceScratch& scratch) const {
    const RawTensor& tensor = *slot.tensor;
    if (!slot.adjacent_pairs) {
      Expand(tensor, row_begin, num_rows, scratch.rows);
      return;
    }
    CanonicalRows& rows = scratch.rows;
    rows.format = PackedFormat(tensor.type);
    rows.num_rows = 0;
    rows.num_cols = tensor.cols();
    rows.f32.clear();
    rows.half.clear();
    rows.codes.clear();
    rows.scales.clear();
    rows.mins.clear();
    for (int64_t row = row_begin; row < row_begin + num_rows; ++row) {
      Expand(tensor, AdjacentPairSource(row, config_.head_dim), 1, scratch.single);
      AppendRows(scratch.single, rows);
    }
  }

  static int64_t RowBytes(const RawTensor& tensor) {
    const WeightTypeInfo& info = InfoOf(tensor.type);
    return tensor.cols() / info.block_elements * info.block_bytes;
  }

  // Takes the checksum of pieces of whole multiples of `unit` rows in parallel, which also brings them into
  // the cache, and runs fn(rows, bytes, scratch) over each; then drops their pages, many pieces at a time.
  template <typename Fn>
  void ForEachPiece(const RawTensor& tensor, int64_t unit, Fn&& fn) {
    const int64_t row_bytes = RowBytes(tensor);
    const int64_t piece_rows = std::max(kPieceBytes / (row_bytes * unit), int64_t{1}) * unit;
    const int64_t num_pieces = (tensor.rows() + piece_rows - 1) / piece_rows;
    std::vector<Checksum128> checksums(static_cast<size_t>(num_pieces));
    const int64_t span_pieces = std::max(kDropBytes / (piece_rows * row_bytes), int64_t{1});
    for (int64_t first = 0; first < num_pieces; first += span_pieces) {
      const int64_t count = std::min(span_pieces, num_pieces - first);
      options_.pool.ParallelForChunks(count, 1, [&](int64_t begin, int64_t end, int32_t thread) {
        for (int64_t piece = first + begin; piece < first + end; ++piece) {
          const IndexRange rows{piece * piece_rows, std::min((piece + 1) * piece_rows, tensor.rows())};
          const auto bytes = tensor.data.subspan(static_cast<size_t>(rows.begin * row_bytes),
                                                 static_cast<size_t>(rows.size() * row_bytes));
          checkpoint_.files()[tensor.file_index].Populate(
              tensor.file_offset + static_cast<uint64_t>(rows.begin * row_bytes), bytes.size());
          checksums[static_cast<size_t>(piece)] = Xxh3Of(bytes);
          fn(rows, bytes, scratch_[static_cast<size_t>(thread)]);
          read_ahead_->Advance(bytes.size());
        }
      });
      const int64_t row_begin = first * piece_rows;
      const int64_t row_end = std::min((first + count) * piece_rows, tensor.rows());
      Drop(tensor, static_cast<uint64_t>(row_begin * row_bytes),
           static_cast<uint64_t>((row_end - row_begin) * row_bytes));
    }
    for (const Checksum128& checksum : checksums) HashPiece(checksum);
  }

  void Drop(const RawTensor& tensor, uint64_t begin, uint64_t size) const {
    checkpoint_.files()[tensor.file_index].DropPages(tensor.file_offset + begin, size);
  }

  void HashPiece(const Checksum128& checksum) {
    hasher_.Update(fmt::format("{:016x}{:016x},", checksum.high, checksum.low));
  }
  void HashName(const WeightSlot& slot) {
    hasher_.Update(fmt::format("\n{} {} {} [{}] ", static_cast<int>(slot.role), slot.layer,
                               InfoOf(slot.tensor->type).name, fmt::join(slot.tensor->shape, ",")));
  }
  // Facts that alter the numbers though the weights are the same.
  void HashConfig() {
    hasher_.Update(fmt::format("{} {} {} {} {} {} {} {} {} {} {} ", config_.architecture, config_.num_heads,
                               config_.num_kv_heads, config_.head_dim, config_.norm_eps, config_.norm_offset,
                               config_.embedding_scale, config_.attention_scale,
                               static_cast<int>(config_.activation), config_.tied_embeddings,
                               fmt::join(config_.layer_windows, ",")));
    for (const int8_t rope : config_.layer_rope) hasher_.Update(fmt::format("{},", static_cast<int>(rope)));
    for (const RopeConfig& rope : config_.ropes) {
      hasher_.Update(fmt::format("{} {} [{}] ", rope.rotary_dim, rope.attention_factor,
                                 fmt::join(RopeFrequencies(rope), ",")));
    }
  }

  const Checkpoint& checkpoint_;
  const ModelConfig& config_;
  const LoadOptions& options_;
  std::vector<PieceScratch> scratch_;  // per thread
  ReadAhead* read_ahead_ = nullptr;    // for the time of Load
  std::vector<RopeConfig> ropes_;
  LoadedDecoder out_;
  Sha256 hasher_;
  uint64_t done_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

}  // namespace

Result<LoadedDecoder> LoadDecoder(const Checkpoint& checkpoint, const ModelConfig& config,
                                  const LoadOptions& options) {
  return DecoderLoader(checkpoint, config, options).Load();
}

}  // namespace firebrick
