// Times Encode of one file: tokenizer_speed MODEL TEXT_FILE REPEATS prints "MS TOKENS" for each pass, in CPU
// time of the thread, so that other work on the machine does not count. Used by tools/bench_tokenizers.py,
// which pairs it with Hugging Face's tokenizers.
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>

#include "base/file.h"
#include "text/tokenizer.h"

namespace {

double CpuMilliseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e3 + static_cast<double>(now.tv_nsec) * 1e-6;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: tokenizer_speed MODEL TEXT_FILE REPEATS\n");
    return 2;
  }
  const auto tokenizer = firebrick::Tokenizer::Open(argv[1]);
  const auto text = firebrick::ReadFile(argv[2], 1U << 30);
  if (!tokenizer.ok() || !text.ok()) {
    std::fprintf(stderr, "%s\n", (tokenizer.ok() ? text.status() : tokenizer.status()).ToString().c_str());
    return 1;
  }
  for (int i = 0; i < std::atoi(argv[3]); ++i) {
    const double begin = CpuMilliseconds();
    const auto ids = tokenizer->Encode(*text, firebrick::SpecialTokens::kRecognise, false);
    const double took = CpuMilliseconds() - begin;
    if (!ids.ok()) return 1;
    std::printf("%.3f %zu\n", took, ids->size());
  }
  return 0;
}
