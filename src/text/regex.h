// Regular expressions that come with a model, run by PCRE2 with limits. Thread: a Regex is const after
// Compile and shared; a RegexSearch belongs to one thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"

struct pcre2_real_code_8;
struct pcre2_real_match_data_8;
struct pcre2_real_match_context_8;

namespace firebrick {

// Reads the dialect of Oniguruma that tokenizer.json is written in: ^ and $ are line borders, \s and \S are
// Unicode's White_Space. Character properties are those of PCRE2's own Unicode version (14 in Debian 12); the
// well-known expressions do not come here (split_pattern.h).
class Regex {
 public:
  static constexpr size_t kMaxPatternBytes = 16 << 10;
  // kInvalidArgument where PCRE2 does not take it, with PCRE2's reason.
  static Result<Regex> Compile(std::string_view pattern);

 private:
  friend class RegexSearch;
  struct CodeDeleter {
    void operator()(pcre2_real_code_8* code) const;
  };
  std::string pattern_;
  std::unique_ptr<pcre2_real_code_8, CodeDeleter> code_;
};

// Walks over the matches of one text.
class RegexSearch {
 public:
  // Both outlive the search; `text` is valid UTF-8.
  RegexSearch(const Regex& regex, std::string_view text);
  // The next match at or after `from`: true, and its range, which may be empty. kResourceExhausted where the
  // expression backtracks too much, or all searches of this text together take too long.
  Result<bool> FindNext(size_t from, size_t* begin, size_t* end);

 private:
  struct Deleter {
    void operator()(pcre2_real_match_data_8* data) const;
    void operator()(pcre2_real_match_context_8* context) const;
  };
  const Regex& regex_;
  std::string_view text_;
  std::unique_ptr<pcre2_real_match_data_8, Deleter> data_;
  std::unique_ptr<pcre2_real_match_context_8, Deleter> context_;
  std::chrono::steady_clock::time_point deadline_;
  uint64_t num_calls_ = 0;
};

}  // namespace firebrick
