#include "exec/warm_up.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "exec/fake/fake_executor.h"

namespace firebrick {
namespace {

FakeExecutorConfig TwoGroups() {
  FakeExecutorConfig config;
  config.num_blocks = 2;  // the fewest that one token of two groups needs
  config.groups = {{{0}, 0}, {{1}, 32}};
  config.max_num_seqs = 1;
  return config;
}

TEST(WarmUpTest, RunsAStepOfTheContractAndLeavesTheSlotFree) {
  FakeExecutor executor(TwoGroups());
  ASSERT_TRUE(WarmUp(&executor, 2).ok());
  ASSERT_TRUE(WarmUp(&executor, 2).ok());  // the slot would be opened twice if it were still held
  EXPECT_THAT(executor.violations(), testing::IsEmpty());
  EXPECT_EQ(executor.num_in_flight(), 0);
}

TEST(WarmUpTest, AFailingStepIsTheServersErrorAndStillFreesTheSlot) {
  FakeExecutorHooks hooks;
  bool fails = true;
  hooks.fails = [&fails](RequestId, int32_t) { return fails; };
  FakeExecutor executor(TwoGroups(), hooks);
  EXPECT_FALSE(WarmUp(&executor, 2).ok());
  fails = false;
  EXPECT_TRUE(WarmUp(&executor, 2).ok());
  EXPECT_THAT(executor.violations(), testing::IsEmpty());
}

}  // namespace
}  // namespace firebrick
