#include "exec/warm_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/fake/fake_executor.h"

namespace firebrick {
namespace {

TEST(WarmUpTest, KeepsTheContractAndLeavesTheSlotFree) {
  FakeExecutorConfig config;
  config.num_blocks = 2;  // the fewest that one token of two groups needs
  config.groups = {{{0}, 0}, {{1}, 32}};
  config.max_num_seqs = 1;
  FakeExecutor executor(config);
  WarmUp(&executor, 2);
  WarmUp(&executor, 2);  // the slot would be opened twice if it were still held
  EXPECT_THAT(executor.violations(), testing::IsEmpty());
  EXPECT_EQ(executor.num_in_flight(), 0);
}

}  // namespace
}  // namespace firebrick
