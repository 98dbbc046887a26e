#include "cli/bench_machine.h"

#include <algorithm>
#include <array>
#include <numeric>

#include "base/status.h"

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

double MeasureReadBandwidth(ThreadPool& pool) {
  constexpr size_t kWords = (512ULL << 20) / sizeof(uint64_t);
  const std::vector<uint64_t> words(kWords, 1);
  std::vector<uint64_t> sums(static_cast<size_t>(pool.num_threads()) * 8);
  std::vector<double> rates;
  for (int run = 0; run < 5; ++run) {
    const auto begin = Clock::now();
    pool.ParallelFor(static_cast<int64_t>(kWords), [&](int64_t first, int64_t last, int32_t thread) {
      // Eight sums, so that additions do not wait for each other.
      std::array<uint64_t, 8> parts{};
      int64_t i = first;
      for (; i + 8 <= last; i += 8) {
        for (size_t k = 0; k < 8; ++k) parts[k] += words[static_cast<size_t>(i) + k];
      }
      for (; i < last; ++i) parts[0] += words[static_cast<size_t>(i)];
      sums[static_cast<size_t>(thread) * 8] += std::accumulate(parts.begin(), parts.end(), uint64_t{0});
    });
    rates.push_back(static_cast<double>(kWords * sizeof(uint64_t)) / SecondsSince(begin));
  }
  CHECK(std::accumulate(sums.begin(), sums.end(), uint64_t{0}) == 5 * kWords);
  return *std::max_element(rates.begin(), rates.end());
}

double MeasurePeak(ThreadPool& pool, int64_t (*loop)(int64_t iterations)) {
  constexpr double kSeconds = 0.05;
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
