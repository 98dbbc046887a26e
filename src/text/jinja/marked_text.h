// Text that remembers who wrote each byte: the template, or the user. Immutable once built.
// All positions are byte offsets unless a name says "char"; the bytes are valid UTF-8.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"

namespace firebrick::jinja {

// The bytes up to `end` (from the end of the run before) have one author.
struct Run {
  size_t end = 0;
  bool user = false;
};

class Text;
using TextPtr = std::shared_ptr<const Text>;

class Text {
 public:
  // `budget` may be null for constants of the program. `runs` cover the bytes; empty for the empty text.
  Text(std::string bytes, std::vector<Run> runs, bool markup, Budget* budget);
  ~Text();
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  static TextPtr Make(std::string bytes, bool user, Budget* budget);

  std::string_view bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  bool empty() const { return bytes_.empty(); }
  const std::vector<Run>& runs() const { return runs_; }
  // Python's Markup: `+` with another string escapes that one as HTML.
  bool markup() const { return markup_; }
  size_t num_chars() const { return num_chars_; }
  bool ascii() const { return num_chars_ == bytes_.size(); }
  bool AnyUser() const;
  // Byte offset of a character; num_chars() gives size().
  size_t OffsetOfChar(size_t char_idx) const;
  size_t CharOfOffset(size_t offset) const;

 private:
  size_t Cost() const;
  std::string bytes_;
  std::vector<Run> runs_;
  Budget* budget_;
  size_t num_chars_;
  bool markup_;
};

// Walks over the runs of a text with rising offsets.
class AuthorCursor {
 public:
  explicit AuthorCursor(const Text& text) : runs_(text.runs()) {}
  bool UserAt(size_t offset) {
    while (at_ + 1 < runs_.size() && runs_[at_].end <= offset) ++at_;
    return at_ < runs_.size() && runs_[at_].user;
  }

 private:
  const std::vector<Run>& runs_;
  size_t at_ = 0;
};

class TextBuilder {
 public:
  // Fails beyond `max_bytes`, before the memory is taken.
  explicit TextBuilder(Budget* budget, size_t max_bytes = SIZE_MAX)
      : budget_(budget), max_bytes_(max_bytes) {}
  ~TextBuilder();
  TextBuilder(const TextBuilder&) = delete;
  TextBuilder& operator=(const TextBuilder&) = delete;

  void Append(std::string_view bytes, bool user);
  void Append(const Text& text) { Append(text, 0, text.size()); }
  void Append(const Text& text, size_t begin, size_t end);
  size_t size() const { return bytes_.size(); }
  std::string_view bytes() const { return bytes_; }
  const std::vector<Run>& runs() const { return runs_; }
  // Leaves the builder empty.
  TextPtr Build(bool markup = false);

 private:
  void Grow(size_t bytes);
  Budget* budget_;
  size_t max_bytes_;
  size_t charged_ = 0;
  std::string bytes_;
  std::vector<Run> runs_;
};

TextPtr SubText(const TextPtr& text, size_t begin, size_t end, Budget* budget);

}  // namespace firebrick::jinja
