// Attention over pages and the writing of pages: each level equals the reference, for all head sizes,
// windows, positions, chunks and splits.
#include <algorithm>
#include <memory>

#include "levels.h"

namespace firebrick {
namespace {

FIREBRICK_CONFORMANCE(AttentionConformance);

// One sequence: its pages, filled through kv_write, in an order unlike that of the positions.
class PagedSequence {
 public:
  PagedSequence(const Ops& ops, KvDType dtype, int32_t head_dim, int32_t num_tokens, uint32_t seed) {
    geometry_.dtype = dtype;
    geometry_.num_kv_heads = 2;
    geometry_.head_dim = head_dim;
    geometry_.groups = {{{0, 1}, 0}};
    const int32_t num_blocks = (num_tokens + kBlockTokens - 1) / kBlockTokens;
    arena_.resize(geometry_.page_bytes() * static_cast<size_t>(num_blocks));
    for (int32_t b = 0; b < num_blocks; ++b) table_.emplace_back(static_cast<uint32_t>(num_blocks - 1 - b));
    const auto n = static_cast<size_t>(num_tokens) * static_cast<size_t>(head_dim);
    const std::vector<float> keys = RandomFloats(n, seed);
    const std::vector<float> values = RandomFloats(n, seed + 1);
    ops.kv_write({Pages(), 0, num_tokens, keys.data(), values.data(), head_dim, head_dim});
  }

  KvHeadPages Pages() {
    return {geometry_.dtype,           geometry_.head_dim,          arena_.data(), geometry_.page_bytes(),
            geometry_.KeyOffset(1, 1), geometry_.ValueOffset(1, 1), table_.data()};
  }
  const std::vector<std::byte>& arena() const { return arena_; }

 private:
  KvGeometry geometry_;
  std::vector<std::byte> arena_;
  std::vector<BlockId> table_;
};

struct Case {
  int32_t head_dim;
  int32_t heads_per_kv;
  int32_t first_position;
  int32_t num_queries;
  int32_t window;
};

const std::vector<Case> kCases = {{64, 3, 0, 1, 0},     {64, 3, 0, 70, 0},    {80, 1, 250, 9, 0},
                                  {96, 2, 255, 3, 300}, {128, 4, 500, 40, 0}, {256, 4, 300, 5, 33},
                                  {6, 5, 31, 34, 1},    {64, 8, 511, 2, 0},   {64, 3, 520, 33, 20},
                                  {128, 1, 40, 12, 40}, {20, 2, 254, 40, 5},  {64, 33, 100, 2, 64},
                                  {64, 2, 768, 1, 512}};

std::vector<float> Attend(const Ops& ops, PagedSequence* sequence, const Case& c,
                          const std::vector<float>& queries, int64_t step) {
  AttentionArgs args;
  args.pages = sequence->Pages();
  args.heads_per_kv = c.heads_per_kv;
  args.window = c.window;
  args.scale = 0.31F;
  args.first_position = c.first_position;
  args.queries = queries.data();
  args.query_stride = c.heads_per_kv * c.head_dim + 5;
  std::vector<float> outputs(queries.size());
  args.outputs = outputs.data();
  args.output_stride = args.query_stride;
  std::vector<float> scratch(AttentionScratchFloats(c.head_dim));
  for (int64_t i = 0; i < c.num_queries; i += step) {
    ops.attention(args, {i, std::min<int64_t>(i + step, c.num_queries)}, scratch.data());
  }
  return outputs;
}

TEST_P(AttentionConformance, EqualsReferenceInAnySplit) {
  for (const KvDType dtype : {KvDType::kBF16, KvDType::kF32}) {
    for (const Case& c : kCases) {
      PagedSequence sequence(ref(), dtype, c.head_dim, c.first_position + c.num_queries, 17);
      const auto floats = static_cast<size_t>(c.num_queries * (c.heads_per_kv * c.head_dim + 5));
      const std::vector<float> queries = RandomFloats(floats, 23);
      const std::vector<float> want = Attend(ref(), &sequence, c, queries, c.num_queries);
      for (const int64_t step : {1, 7, 64}) {
        const std::vector<float> got = Attend(ops(), &sequence, c, queries, step);
        ASSERT_TRUE(SameBits(want, got)) << "head_dim " << c.head_dim << " first " << c.first_position
                                         << " window " << c.window << " step " << step;
      }
    }
  }
}

// What lies behind a token's position, in its own page or in later ones, leaves no trace.
TEST_P(AttentionConformance, LaterKeysLeaveNoTrace) {
  const Case chunk{64, 2, 0, 40, 0};
  const std::vector<float> queries = RandomFloats(40 * 133, 5);
  PagedSequence longer(ref(), KvDType::kBF16, 64, 64, 3);   // the first 40 tokens of both are the same:
  PagedSequence shorter(ref(), KvDType::kBF16, 64, 40, 3);  // random values come in order
  const std::vector<float> with_later = Attend(ops(), &longer, chunk, queries, 40);
  EXPECT_TRUE(SameBits(with_later, Attend(ops(), &shorter, chunk, queries, 40)));
  EXPECT_TRUE(SameBits(with_later, Attend(ref(), &shorter, chunk, queries, 40)));
}

TEST_P(AttentionConformance, KvWriteStoresTheSameBytes) {
  for (const KvDType dtype : {KvDType::kBF16, KvDType::kF32}) {
    for (const int32_t head_dim : {6, 64, 80, 256}) {
      PagedSequence want(ref(), dtype, head_dim, 77, 9);
      PagedSequence got(ops(), dtype, head_dim, 77, 9);
      EXPECT_EQ(want.arena(), got.arena()) << head_dim;
    }
  }
}

}  // namespace
}  // namespace firebrick
