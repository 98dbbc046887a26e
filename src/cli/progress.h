// ProgressBar: one line on standard error with share, rate and time left, redrawn a few times a second; on a
// pipe only the closing line. Thread: one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace firebrick {

class ProgressBar {
 public:
  // total_bytes 0: unknown, so neither share nor time left. bytes_at_start do not count into the rate
  // (resumed work).
  ProgressBar(std::string label, uint64_t total_bytes, uint64_t bytes_at_start = 0);
  ~ProgressBar();  // ends the line where Finish was not called: the work failed
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  void Update(uint64_t done_bytes);
  void Finish();

 private:
  void Draw(std::chrono::steady_clock::time_point now);

  std::string label_;
  uint64_t total_bytes_;
  uint64_t bytes_at_start_;
  uint64_t done_bytes_;
  bool terminal_;
  bool open_ = false;  // a line is drawn and not ended
  std::chrono::steady_clock::time_point start_;
  std::chrono::steady_clock::time_point drawn_;
};

// The line without its control characters; a pure function for the bar and its test.
std::string FormatProgress(const std::string& label, uint64_t done_bytes, uint64_t total_bytes,
                           double bytes_per_second);

}  // namespace firebrick
