#include <atomic>
#include <filesystem>
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "device/aligned_buffer.h"
#include "device/cgroup.h"
#include "device/fp_mode.h"
#include "device/ledger.h"
#include "device/memory.h"
#include "device/thread_pool.h"
#include "device/topology.h"

namespace firebrick {
namespace {

// A made-up /proc and /sys below a temporary folder.
class FakeRoot {
 public:
  FakeRoot() {
    std::string pattern = ::testing::TempDir() + "firebrick_device_XXXXXX";
    path_ = mkdtemp(pattern.data());
  }
  ~FakeRoot() { std::filesystem::remove_all(path_); }
  void Write(const std::string& name, const std::string& text) const {
    const std::filesystem::path file = path_ + name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file) << text;
  }
  void AddCpu(int32_t id, int32_t core, int32_t package) const {
    const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(id) + "/topology/";
    Write(folder + "core_id", std::to_string(core) + "\n");
    Write(folder + "physical_package_id", std::to_string(package) + "\n");
  }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

constexpr const char* kMemInfo = "MemTotal:       16000000 kB\nMemFree: 1 kB\nMemAvailable:   8000000 kB\n";

TEST(AlignedBufferTest, IsZeroAlignedAndCharged) {
  for (const size_t bytes : {size_t{1}, size_t{1000}, size_t{1} << 20, (size_t{5} << 20) + 3}) {
    const size_t before = ProcessLedger().BytesOf(MemoryAccount::kOther);
    Result<AlignedBuffer> buffer = AlignedBuffer::Allocate(MemoryAccount::kOther, bytes);
    ASSERT_TRUE(buffer.ok());
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(buffer->data()) % (bytes >= (size_t{2} << 20) ? size_t{2} << 20 : 64),
        0U);
    EXPECT_EQ(ProcessLedger().BytesOf(MemoryAccount::kOther), before + bytes);
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(buffer->data()[i], std::byte{0});
    AlignedBuffer moved = std::move(buffer).value();
    moved.data()[bytes - 1] = std::byte{1};
    moved = AlignedBuffer();
    EXPECT_EQ(ProcessLedger().BytesOf(MemoryAccount::kOther), before);
    EXPECT_GE(ProcessLedger().PeakOf(MemoryAccount::kOther), before + bytes);
  }
}

TEST(AlignedBufferTest, ImpossibleSizeIsAnErrorThatNamesTheAccount) {
  const Result<AlignedBuffer> buffer = AlignedBuffer::Allocate(MemoryAccount::kKvCache, SIZE_MAX / 2);
  ASSERT_FALSE(buffer.ok());
  EXPECT_EQ(buffer.status().code(), StatusCode::kResourceExhausted);
  EXPECT_NE(buffer.status().message().find("kv_cache"), std::string::npos);
}

TEST(MemoryTest, MachineAlone) {
  const FakeRoot root;
  root.Write("/proc/meminfo", kMemInfo);
  const Result<MemoryFacts> facts = ReadMemoryFacts(root.path());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->total_bytes, 16000000ULL * 1024);
  EXPECT_EQ(facts->available_bytes, 8000000ULL * 1024);
  EXPECT_FALSE(facts->cgroup_limited);
}

TEST(MemoryTest, UnifiedCgroupTakesTheTightestAncestorAndCountsPageCacheAsFree) {
  const FakeRoot root;
  root.Write("/proc/meminfo", kMemInfo);
  root.Write("/proc/self/cgroup", "0::/outer/inner\n");
  root.Write("/sys/fs/cgroup/outer/memory.max", "1000000\n");
  root.Write("/sys/fs/cgroup/outer/memory.current", "900000\n");
  root.Write("/sys/fs/cgroup/outer/memory.stat", "anon 1\ninactive_file 300000\n");
  root.Write("/sys/fs/cgroup/outer/inner/memory.max", "max\n");
  root.Write("/sys/fs/cgroup/outer/inner/memory.current", "5\n");
  const Result<MemoryFacts> facts = ReadMemoryFacts(root.path());
  ASSERT_TRUE(facts.ok());
  EXPECT_EQ(facts->available_bytes, 400000U);
  EXPECT_EQ(facts->total_bytes, 1000000U);
  EXPECT_TRUE(facts->cgroup_limited);
}

TEST(MemoryTest, CgroupV1WithAPathThatTheContainerDoesNotSee) {
  const FakeRoot root;
  root.Write("/proc/meminfo", kMemInfo);
  root.Write("/proc/self/cgroup", "4:memory:/docker/abc\n2:cpu,cpuacct:/docker/abc\n");
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "2000000\n");
  root.Write("/sys/fs/cgroup/memory/memory.usage_in_bytes", "500000\n");
  root.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "250000\n");
  root.Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = ReadCgroupLimits(root.path());
  EXPECT_EQ(limits.memory_bytes, 1500000U);
  EXPECT_EQ(limits.cpus, 2.5);
  root.Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  root.Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n");
  EXPECT_FALSE(ReadCgroupLimits(root.path()).memory_bytes.has_value());
  EXPECT_FALSE(ReadCgroupLimits(root.path()).cpus.has_value());
}

TEST(MemoryTest, AMachineThatSaysNothingIsAnErrorWithTheRemedy) {
  const FakeRoot root;
  root.Write("/proc/meminfo", "nonsense\n");
  const Result<MemoryFacts> facts = ReadMemoryFacts(root.path());
  ASSERT_FALSE(facts.ok());
  EXPECT_NE(facts.status().message().find("--kv-cache-memory"), std::string::npos);
}

TEST(TopologyTest, ThreadsOfOneCoreCountOnceAndAreNotPinnedTwice) {
  const FakeRoot root;
  for (int32_t cpu = 0; cpu < 8; ++cpu) root.AddCpu(cpu, cpu % 4, 0);
  root.Write("/sys/devices/system/node/node0/cpulist", "0-1,4-5\n");
  root.Write("/sys/devices/system/node/node1/cpulist", "2-3,6-7\n");
  root.Write("/proc/cpuinfo", "model name\t: Test CPU 9000\nflags: x\n");
  const Topology topology = ReadTopology(root.path(), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(topology.num_cores, 4);
  EXPECT_EQ(topology.num_nodes, 2);
  EXPECT_EQ(topology.default_threads, 4);
  EXPECT_EQ(topology.pinning, (std::vector<int32_t>{0, 1, 2, 3}));
  EXPECT_NE(topology.ToString().find("Test CPU 9000"), std::string::npos);
}

TEST(TopologyTest, BelowFourCpusNothingIsPinned) {
  const FakeRoot root;
  root.AddCpu(0, 0, 0);
  root.AddCpu(1, 0, 0);
  const Topology topology = ReadTopology(root.path(), {0, 1});
  EXPECT_EQ(topology.default_threads, 2);
  EXPECT_TRUE(topology.pinning.empty());
}

TEST(TopologyTest, QuotaBoundsThreadsAndForbidsPinning) {
  const FakeRoot root;
  for (int32_t cpu = 0; cpu < 8; ++cpu) root.AddCpu(cpu, cpu, 0);
  root.Write("/proc/self/cgroup", "0::/\n");
  root.Write("/sys/fs/cgroup/cpu.max", "350000 100000\n");
  const Topology topology = ReadTopology(root.path(), {0, 1, 2, 3, 4, 5, 6, 7});
  EXPECT_EQ(topology.default_threads, 3);
  EXPECT_TRUE(topology.pinning.empty());
  root.Write("/sys/fs/cgroup/cpu.max", "50000 100000\n");
  EXPECT_EQ(ReadTopology(root.path(), {0, 1, 2, 3}).default_threads, 1);
}

TEST(TopologyTest, ThisMachineHasAThread) {
  const Topology topology = ReadTopology();
  EXPECT_GE(topology.default_threads, 1);
  EXPECT_FALSE(topology.cpus.empty());
}

TEST(ThreadPoolTest, SplitRangeCoversOnceWithSizesThatDifferByOne) {
  for (const int64_t items : {0, 1, 5, 16, 17}) {
    int64_t next = 0;
    for (int64_t part = 0; part < 4; ++part) {
      const IndexRange range = SplitRange(items, 4, part);
      EXPECT_EQ(range.begin, next);
      EXPECT_LE(range.size(), items / 4 + 1);
      next = range.end;
    }
    EXPECT_EQ(next, items);
  }
}

TEST(ThreadPoolTest, EveryItemRunsOnceForAllThreadAndItemCounts) {
  for (const int32_t threads : {1, 2, 5}) {
    ThreadPool pool({.num_threads = threads, .pinning = {}, .spin = std::chrono::microseconds(5)});
    for (int round = 0; round < 50; ++round) {
      for (const int64_t items : {0, 1, 3, 100}) {
        std::vector<std::atomic<int>> counts(static_cast<size_t>(items));
        const auto count = [&](int64_t begin, int64_t end, int32_t thread) {
          ASSERT_GE(thread, 0);
          ASSERT_LT(thread, threads);
          for (int64_t i = begin; i < end; ++i) counts[static_cast<size_t>(i)]++;
        };
        if (round % 2 == 0) {
          pool.ParallelFor(items, count);
        } else {
          pool.ParallelForChunks(items, 7, count);
        }
        for (const auto& value : counts) ASSERT_EQ(value.load(), 1);
      }
    }
  }
}

TEST(ThreadPoolTest, WritesOfOneCallAreSeenByTheNextWithoutAtomics) {
  ThreadPool pool({.num_threads = 3, .pinning = {}, .spin = std::chrono::microseconds(0)});
  std::vector<int64_t> values(64, 0);
  for (int round = 0; round < 200; ++round) {
    pool.ParallelForChunks(64, 1,
                           [&](int64_t begin, int64_t, int32_t) { values[static_cast<size_t>(begin)] += 1; });
  }
  for (const int64_t value : values) EXPECT_EQ(value, 200);
}

TEST(ThreadPoolTest, DenormalsAreFlushedInEveryItemAndNotAfterwards) {
  ThreadPool pool({.num_threads = 2, .pinning = {}, .spin = std::chrono::microseconds(5)});
  volatile float tiny = 1e-38F;
  std::atomic<int> flushed{0};
  pool.ParallelForChunks(16, 1, [&](int64_t, int64_t, int32_t) {
    if (tiny * 0.01F == 0.0F) flushed++;
  });
  EXPECT_EQ(flushed.load(), 16);
  EXPECT_NE(tiny * 0.01F, 0.0F);
}

TEST(ThreadPoolTest, OptionsPinOnlyWhatTheTopologyPlanned) {
  Topology topology;
  topology.default_threads = 4;
  topology.pinning = {0, 1, 2, 3};
  EXPECT_EQ(MakeThreadPoolOptions(topology, 0).num_threads, 4);
  EXPECT_EQ(MakeThreadPoolOptions(topology, 2).pinning.size(), 4U);
  EXPECT_TRUE(MakeThreadPoolOptions(topology, 9).pinning.empty());
}

}  // namespace
}  // namespace firebrick
