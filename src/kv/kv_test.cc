#include <numeric>

#include <gtest/gtest.h>

#include "kernels/kv_view.h"
#include "kv/block_key.h"
#include "kv/block_pool.h"
#include "kv/prefix_index.h"

namespace firebrick {
namespace {

std::vector<int32_t> Tokens(int32_t first) {
  std::vector<int32_t> tokens(kBlockTokens);
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::vector<BlockKey> Keys(int32_t count, std::string_view salt = "") {
  BlockKeyChain chain;
  std::vector<BlockKey> keys;
  BlockKey parent = chain.Root({}, salt);
  for (int32_t i = 0; i < count; ++i) keys.push_back(parent = chain.Next(parent, Tokens(i * kBlockTokens)));
  return keys;
}

TEST(BlockKey, NamesTokensPredecessorsSaltAndSettings) {
  BlockKeyChain chain;
  const std::vector<uint8_t> settings = {7};
  const BlockKey root = chain.Root({}, "");
  EXPECT_EQ(root, chain.Root({}, ""));
  EXPECT_NE(root, chain.Root({}, "tenant"));
  EXPECT_NE(root, chain.Root(settings, ""));
  const BlockKey first = chain.Next(root, Tokens(0));
  EXPECT_EQ(first, chain.Next(root, Tokens(0)));
  EXPECT_NE(first, chain.Next(root, Tokens(1)));
  EXPECT_NE(first, chain.Next(first, Tokens(0))) << "the same tokens at another position";
}

TEST(BlockKey, Case22FieldsAreFramed) {
  BlockKeyChain chain;
  const auto root = [&](std::string_view settings, std::string_view salt) {
    return chain.Root({reinterpret_cast<const uint8_t*>(settings.data()), settings.size()}, salt);
  };
  const std::string long_text(100'000, 'x');
  const std::vector<BlockKey> roots = {root("ab", "c"),
                                       root("a", "bc"),
                                       root("abc", ""),
                                       root("", "abc"),
                                       root("a", long_text),
                                       root(long_text, "a"),
                                       root("", "\xc3\xa4"),
                                       root(std::string_view("a\0b", 3), ""),
                                       root("a", std::string_view("\0b", 2))};
  for (size_t i = 0; i < roots.size(); ++i) {
    for (size_t j = i + 1; j < roots.size(); ++j) {
      EXPECT_NE(roots[i], roots[j]) << i << " " << j;
    }
  }
}

// The keys name pages on disk and on other hosts: a change of the definition is a change of format.
TEST(BlockKey, DefinitionIsStable) {
  EXPECT_EQ(ToHex(Keys(2)[1]), "862bb9a8f0768ce6eca12416891754db2f52171e3075b24647305e8db1832f25");
}

TEST(FirstVisibleBlock, CountsFromTheOldestVisibleToken) {
  EXPECT_EQ(FirstVisibleBlock(0, 1000), 0);
  EXPECT_EQ(FirstVisibleBlock(32, 31), 0);
  EXPECT_EQ(FirstVisibleBlock(32, 62), 0);  // sees 31..62
  EXPECT_EQ(FirstVisibleBlock(32, 63), 1);  // sees 32..63
  EXPECT_EQ(FirstVisibleBlock(1, 64), 2);   // sees itself
  EXPECT_EQ(FirstVisibleBlock(33, 64), 1);  // sees 32..64
}

TEST(PrefixIndex, HitIsLargestPrefixThatEveryGroupHolds) {
  PrefixIndex index({0, 40}, 32);  // at position 32n the sliding group sees back to 32n - 39: two blocks
  const auto keys = Keys(4);
  EXPECT_EQ(index.Find(keys).num_blocks, 0);
  for (uint32_t i = 0; i < 4; ++i) ASSERT_TRUE(index.TryInsert(keys[i], 0, BlockId(i)));
  EXPECT_EQ(index.Find(keys).num_blocks, 0) << "the sliding group holds nothing";
  ASSERT_TRUE(index.TryInsert(keys[1], 1, BlockId(11)));
  ASSERT_TRUE(index.TryInsert(keys[2], 1, BlockId(12)));
  const PrefixHit hit = index.Find(keys);
  EXPECT_EQ(hit.num_blocks, 3);
  EXPECT_EQ(hit.groups[0].blocks, (std::vector{BlockId(0), BlockId(1), BlockId(2)}));
  EXPECT_EQ(hit.groups[1].first_block_idx, 1);
  EXPECT_EQ(hit.groups[1].blocks, (std::vector{BlockId(11), BlockId(12)}));
  index.Erase(BlockId(1));
  EXPECT_EQ(index.Find(keys).num_blocks, 0) << "n = 1 needs block 0 of the sliding group";
  ASSERT_TRUE(index.TryInsert(keys[0], 1, BlockId(10)));
  EXPECT_EQ(index.Find(keys).num_blocks, 1);
  EXPECT_TRUE(index.Verify().ok());
}

TEST(PrefixIndex, SecondPageOfTheSameContentStaysPrivate) {
  PrefixIndex index({0}, 4);
  const auto keys = Keys(1);
  EXPECT_TRUE(index.TryInsert(keys[0], 0, BlockId(0)));
  EXPECT_FALSE(index.TryInsert(keys[0], 0, BlockId(1)));
  EXPECT_FALSE(index.Contains(BlockId(1)));
  EXPECT_EQ(index.num_blocks(), 1);
}

TEST(BlockPool, AllocatesAllOrNothing) {
  PrefixIndex index({0}, 4);
  BlockPool pool(4, &index);
  std::vector<BlockId> blocks;
  EXPECT_TRUE(pool.TryAllocate(3, &blocks));
  EXPECT_FALSE(pool.TryAllocate(2, &blocks));
  EXPECT_EQ(blocks.size(), 3U);
  EXPECT_EQ(pool.num_available(), 1);
  for (const BlockId block : blocks) pool.Release(block);
  EXPECT_EQ(pool.num_available(), 4);
  EXPECT_TRUE(pool.Verify(std::vector<int32_t>(4, 0)).ok());
}

TEST(BlockPool, Case3TakingACachedPageRemovesItsIndexEntryOldestFirst) {
  PrefixIndex index({0}, 3);
  BlockPool pool(3, &index);
  const auto keys = Keys(3);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.TryAllocate(3, &blocks));
  for (size_t i = 0; i < 3; ++i) index.TryInsert(keys[i], 0, blocks[i]);
  for (size_t i = 3; i-- > 0;) pool.Release(blocks[i]);  // the tail first
  EXPECT_EQ(pool.num_cached(), 3);
  EXPECT_EQ(index.Find(keys).num_blocks, 3);
  std::vector<BlockId> fresh;
  ASSERT_TRUE(pool.TryAllocate(1, &fresh));
  EXPECT_EQ(fresh[0], blocks[2]) << "case 33: a prefix loses its tail, not its head";
  EXPECT_EQ(index.Find(keys).num_blocks, 2);
  EXPECT_FALSE(index.Contains(fresh[0]));
  EXPECT_TRUE(pool.Verify(std::vector<int32_t>{0, 0, 1}).ok());
}

TEST(BlockPool, Case7SharedPagesAreNotEvicted) {
  PrefixIndex index({0}, 2);
  BlockPool pool(2, &index);
  const auto keys = Keys(1);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.TryAllocate(1, &blocks));
  index.TryInsert(keys[0], 0, blocks[0]);
  pool.Release(blocks[0]);
  pool.Share(index.Find(keys).groups[0].blocks[0]);
  EXPECT_FALSE(pool.TryAllocate(2, &blocks));
  EXPECT_EQ(index.Find(keys).num_blocks, 1);
  pool.Release(blocks[0]);
  pool.EvictAll();
  EXPECT_EQ(index.Find(keys).num_blocks, 0);
  EXPECT_EQ(pool.num_available(), 2);
}

TEST(BlockPool, VerifyFindsALostReference) {
  PrefixIndex index({0}, 2);
  BlockPool pool(2, &index);
  std::vector<BlockId> blocks;
  ASSERT_TRUE(pool.TryAllocate(1, &blocks));
  EXPECT_FALSE(pool.Verify(std::vector<int32_t>(2, 0)).ok());
}

}  // namespace
}  // namespace firebrick
