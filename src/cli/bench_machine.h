// What this machine can do at best, measured in the same run as what is divided by it. Thread: the main
// thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "device/thread_pool.h"
#include "kernels/isa.h"

namespace firebrick {

double SecondsSince(std::chrono::steady_clock::time_point begin);
// Of at least one value; of an even number the mean of the middle two.
double Median(std::vector<double> values);

// Bytes per second that all threads read together, by the loads of `level`, from memory that no cache holds.
double MeasureReadBandwidth(ThreadPool& pool, IsaLevel level);
// Bytes of which no cache holds a useful part: twice the largest cache, 128 MiB to 1 GiB.
uint64_t ColdBytes();
// Floating-point operations per second of all threads together in one of the loops of kernels/peak.h.
double MeasurePeak(ThreadPool& pool, int64_t (*loop)(int64_t iterations));

}  // namespace firebrick
