#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

namespace firebrick {
namespace {

constexpr uint32_t kMatchLimit = 20'000'000;
constexpr uint32_t kDepthLimit = 100'000;
constexpr uint32_t kHeapLimitKib = 64 << 10;
constexpr std::chrono::seconds kMaxSearchTime{10};  // over one text

// White_Space of Unicode. PCRE2's own \s has U+180E besides.
constexpr std::string_view kSpaces =
    "\\x{09}-\\x{0d}\\x{20}\\x{85}\\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{"
    "3000}";

std::string Translate(std::string_view pattern) {
  std::string out;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\' && i + 1 < pattern.size()) {
      const char escaped = pattern[++i];
      if (escaped == 's') {
        out += in_class ? std::string(kSpaces) : "[" + std::string(kSpaces) + "]";
      } else if (escaped == 'S' && !in_class) {
        out += "[^" + std::string(kSpaces) + "]";
      } else {
        out += {'\\', escaped};
      }
      continue;
    }
    if (c == '[' && !in_class)
      in_class = true;
    else if (c == ']' && in_class && pattern[i - 1] != '[')
      in_class = false;
    out += c;
  }
  return out;
}

std::string PcreMessage(int code) {
  PCRE2_UCHAR buffer[256] = {};
  pcre2_get_error_message(code, buffer, sizeof(buffer));
  return reinterpret_cast<const char*>(buffer);
}

}  // namespace

void Regex::CodeDeleter::operator()(pcre2_real_code_8* code) const { pcre2_code_free(code); }
void RegexSearch::Deleter::operator()(pcre2_real_match_data_8* data) const { pcre2_match_data_free(data); }
void RegexSearch::Deleter::operator()(pcre2_real_match_context_8* context) const {
  pcre2_match_context_free(context);
}

Result<Regex> Regex::Compile(std::string_view pattern) {
  if (pattern.size() > kMaxPatternBytes) {
    return InvalidArgument("a regular expression of {} bytes is too long", pattern.size());
  }
  Regex regex;
  regex.pattern_ = std::string(pattern);
  const std::string translated = Translate(pattern);
  int error = 0;
  PCRE2_SIZE offset = 0;
  regex.code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(translated.data()), translated.size(),
                                  PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C, &error,
                                  &offset, nullptr));
  if (regex.code_ == nullptr) {
    return InvalidArgument("the regular expression \"{}\" is not understood: {}", pattern,
                           PcreMessage(error));
  }
  pcre2_jit_compile(regex.code_.get(), PCRE2_JIT_COMPLETE);  // without it the interpreter runs
  return regex;
}

RegexSearch::RegexSearch(const Regex& regex, std::string_view text)
    : regex_(regex),
      text_(text),
      data_(pcre2_match_data_create(1, nullptr)),
      context_(pcre2_match_context_create(nullptr)),
      deadline_(std::chrono::steady_clock::now() + kMaxSearchTime) {
  pcre2_set_match_limit(context_.get(), kMatchLimit);
  pcre2_set_depth_limit(context_.get(), kDepthLimit);
  pcre2_set_heap_limit(context_.get(), kHeapLimitKib);
}

Result<bool> RegexSearch::FindNext(size_t from, size_t* begin, size_t* end) {
  if (++num_calls_ % 16 == 0 && std::chrono::steady_clock::now() > deadline_) {
    return MakeError(StatusCode::kResourceExhausted,
                     "the model's regular expression \"{}\" is too slow on this text: {} of {} bytes in {} s",
                     regex_.pattern_, from, text_.size(), kMaxSearchTime.count());
  }
  const auto* subject = reinterpret_cast<PCRE2_SPTR>(text_.data());
  int count = pcre2_match(regex_.code_.get(), subject, text_.size(), from, PCRE2_NO_UTF_CHECK, data_.get(),
                          context_.get());
  if (count == PCRE2_ERROR_JIT_STACKLIMIT) {  // the interpreter keeps its state on the heap
    count = pcre2_match(regex_.code_.get(), subject, text_.size(), from, PCRE2_NO_UTF_CHECK | PCRE2_NO_JIT,
                        data_.get(), context_.get());
  }
  if (count == PCRE2_ERROR_NOMATCH) return false;
  if (count < 0) {
    return MakeError(StatusCode::kResourceExhausted,
                     "the model's regular expression \"{}\" fails on this text at byte {}: {}",
                     regex_.pattern_, from, PcreMessage(count));
  }
  const PCRE2_SIZE* range = pcre2_get_ovector_pointer(data_.get());
  *begin = range[0];
  *end = range[1] < range[0] ? range[0] : range[1];  // \K may put the start behind the end
  return true;
}

}  // namespace firebrick
