#include "cli/progress.h"

#include <algorithm>
#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "config/parse.h"

namespace firebrick {
namespace {

constexpr std::chrono::milliseconds kRedrawEvery{200};
constexpr size_t kBarWidth = 24;

std::string FormatSeconds(double seconds) {
  const auto whole = static_cast<uint64_t>(std::min(seconds, 359999.0) + 0.5);
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole / 60 % 60);
}

}  // namespace

std::string FormatProgress(const std::string& label, uint64_t done_bytes, uint64_t total_bytes,
                           double bytes_per_second) {
  const std::string rate = FormatBytes(static_cast<uint64_t>(bytes_per_second)) + "/s";
  if (total_bytes == 0) return fmt::format("{}  {}  {}", label, FormatBytes(done_bytes), rate);
  const double share = std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(total_bytes));
  const auto filled = static_cast<size_t>(share * kBarWidth);
  std::string line = fmt::format("{}  [{}{}] {:3.0f} %  {} of {}  {}", label, std::string(filled, '#'),
                                 std::string(kBarWidth - filled, '.'), share * 100, FormatBytes(done_bytes),
                                 FormatBytes(total_bytes), rate);
  if (done_bytes < total_bytes && bytes_per_second > 0) {
    line += ", " + FormatSeconds(static_cast<double>(total_bytes - done_bytes) / bytes_per_second) + " left";
  }
  return line;
}

ProgressBar::ProgressBar(std::string label, uint64_t total_bytes, uint64_t bytes_at_start)
    : label_(std::move(label)),
      total_bytes_(total_bytes),
      bytes_at_start_(bytes_at_start),
      done_bytes_(bytes_at_start),
      terminal_(isatty(STDERR_FILENO) == 1),
      start_(std::chrono::steady_clock::now()),
      drawn_(start_) {}

ProgressBar::~ProgressBar() {
  if (open_) std::fputc('\n', stderr);
}

void ProgressBar::Update(uint64_t done_bytes) {
  done_bytes_ = done_bytes;
  const auto now = std::chrono::steady_clock::now();
  if (!terminal_ || now - drawn_ < kRedrawEvery) return;
  Draw(now);
}

void ProgressBar::Finish() {
  Draw(std::chrono::steady_clock::now());
  std::fputc('\n', stderr);
  open_ = false;
}

void ProgressBar::Draw(std::chrono::steady_clock::time_point now) {
  const double seconds = std::max(1e-3, std::chrono::duration<double>(now - start_).count());
  const double rate = static_cast<double>(done_bytes_ - std::min(done_bytes_, bytes_at_start_)) / seconds;
  const std::string line = FormatProgress(label_, done_bytes_, total_bytes_, rate);
  std::fprintf(stderr, terminal_ ? "\r\x1b[K%s" : "%s", line.c_str());
  std::fflush(stderr);
  drawn_ = now;
  open_ = true;
}

}  // namespace firebrick
