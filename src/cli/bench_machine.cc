#include "cli/bench_machine.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/status.h"
#include "device/topology.h"
#include "kernels/peak.h"

namespace firebrick {

using Clock = std::chrono::steady_clock;

double SecondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

double MeasureReadBandwidth(ThreadPool& pool, IsaLevel level) {
  constexpr int64_t kUnit = 1024;  // floats
  const PeakLoops* loops = FindPeakLoops(level);
  if (loops == nullptr) loops = FindPeakLoops(IsaLevel::kAvx2);  // the reference's loads are not worth a name
  CHECK(loops != nullptr);
  const auto num_units = static_cast<int64_t>(ColdBytes() / sizeof(float)) / kUnit;
  const std::vector<float> data(static_cast<size_t>(num_units * kUnit), 1.0F);
  std::vector<float> sums(static_cast<size_t>(pool.num_threads()) * 16);
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    const auto begin = Clock::now();
    pool.ParallelFor(num_units, [&](int64_t first, int64_t last, int32_t thread) {
      sums[static_cast<size_t>(thread) * 16] +=
          loops->read(data.data() + first * kUnit, (last - first) * kUnit);
    });
    rates.push_back(static_cast<double>(data.size() * sizeof(float)) / SecondsSince(begin));
  }
  CHECK(std::accumulate(sums.begin(), sums.end(), 0.0F) > 0);
  return *std::max_element(rates.begin(), rates.end());
}

uint64_t ColdBytes() {
  const auto wanted = static_cast<uint64_t>(ReadTopology().last_cache_bytes) * 2;
  return std::clamp<uint64_t>(wanted, uint64_t{128} << 20, uint64_t{1} << 30);
}

double MeasurePeak(ThreadPool& pool, int64_t (*loop)(int64_t iterations)) {
  constexpr double kSeconds = 0.02;
  int64_t iterations = 1000;
  double best = 0;
  for (int run = 0; run < 5; ++run) {
    std::vector<int64_t> done(static_cast<size_t>(pool.num_threads()) * 8);
    const auto begin = Clock::now();
    pool.ParallelFor(pool.num_threads(), [&](int64_t, int64_t, int32_t thread) {
      done[static_cast<size_t>(thread) * 8] += loop(iterations);
    });
    const double seconds = SecondsSince(begin);
    best =
        std::max(best, static_cast<double>(std::accumulate(done.begin(), done.end(), int64_t{0})) / seconds);
    iterations =
        std::max<int64_t>(1000, static_cast<int64_t>(static_cast<double>(iterations) * kSeconds / seconds));
  }
  return best;
}

}  // namespace firebrick
