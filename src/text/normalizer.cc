#include "text/normalizer.h"

#include <algorithm>
#include <utility>

#include <utf8proc.h>

#include "base/utf8.h"
#include "text/unicode_class.h"

namespace firebrick {
namespace {

bool IsInert(uint32_t code) { return (CharClasses::Get().Of(code) & char_class::kInert) != 0; }

int32_t CombiningClass(int32_t code) {
  return IsInert(static_cast<uint32_t>(code)) ? 0 : utf8proc_get_property(code)->combining_class;
}

// Sorts each run of non-starters by combining class. std::stable_sort, because utf8proc's own sorting is
// quadratic in the length of a run and the text may be hostile.
void SortMarks(std::vector<int32_t>* codes) {
  for (size_t i = 0; i < codes->size();) {
    size_t end = i;
    while (end < codes->size() && CombiningClass((*codes)[end]) != 0) ++end;
    if (end - i > 1) {
      std::stable_sort(codes->begin() + static_cast<std::ptrdiff_t>(i),
                       codes->begin() + static_cast<std::ptrdiff_t>(end),
                       [](int32_t a, int32_t b) { return CombiningClass(a) < CombiningClass(b); });
    }
    i = end + 1;
  }
}

// Composes codes[begin, end), which holds no inert code point, and appends it.
void AppendComposed(std::vector<int32_t>* codes, size_t begin, size_t end, bool compose, std::string* out) {
  auto length = static_cast<utf8proc_ssize_t>(end - begin);
  if (compose && length > 1) {
    length = utf8proc_normalize_utf32(codes->data() + begin, length,
                                      static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE));
  }
  for (utf8proc_ssize_t i = 0; i < length; ++i) {
    AppendUtf8(static_cast<uint32_t>((*codes)[begin + static_cast<size_t>(i)]), out);
  }
}

void AppendNormalized(std::string_view text, UnicodeForm form, std::string* out) {
  const bool compose = form == UnicodeForm::kNfc || form == UnicodeForm::kNfkc;
  int options = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE;
  if (form == UnicodeForm::kNfkc || form == UnicodeForm::kNfkd) options |= UTF8PROC_COMPAT;
  std::vector<int32_t> codes;
  codes.reserve(text.size());
  for (size_t pos = 0; pos < text.size();) {
    const Char c = DecodeChar(text.data() + pos);
    pos += c.length;
    const auto code = static_cast<int32_t>(c.code_point);
    constexpr size_t kMaxDecomposition = 32;
    int32_t parts[kMaxDecomposition] = {code};
    utf8proc_ssize_t count = 1;
    if (code >= 0xa0 && !IsInert(c.code_point)) {
      int last_boundclass = 0;
      count = utf8proc_decompose_char(code, parts, kMaxDecomposition, static_cast<utf8proc_option_t>(options),
                                      &last_boundclass);
    }
    codes.insert(codes.end(), parts, parts + std::max<utf8proc_ssize_t>(count, 0));
  }
  SortMarks(&codes);
  size_t begin = 0;
  for (size_t i = 0; i <= codes.size(); ++i) {
    if (i < codes.size() && !IsInert(static_cast<uint32_t>(codes[i]))) continue;
    AppendComposed(&codes, begin, i, compose, out);
    if (i < codes.size()) AppendUtf8(static_cast<uint32_t>(codes[i]), out);
    begin = i + 1;
  }
}

// The end of the stretch at `pos` that normalises on its own: it begins at a character below U+0300 or at
// `pos`, and ends before the next such character. Those are starters that join with nothing before them.
size_t StretchEnd(std::string_view text, size_t pos) {
  pos += CharLength(text[pos]);
  while (pos < text.size() && static_cast<unsigned char>(text[pos]) >= 0xcc) pos += CharLength(text[pos]);
  return pos;
}

bool IsUnchanged(std::string_view text, UnicodeForm form) {
  const unsigned char bound = form == UnicodeForm::kNfc ? 0xcc : 0x80;  // lead byte of U+0300; non-ASCII
  return std::all_of(text.begin(), text.end(), [&](char c) {
    const auto byte = static_cast<unsigned char>(c);
    return byte < bound;
  });
}

uint8_t AllMarked(const std::vector<uint8_t>& marks, size_t begin, size_t end) {
  const auto first = marks.begin() + static_cast<std::ptrdiff_t>(begin);
  return std::all_of(first, first + static_cast<std::ptrdiff_t>(end - begin),
                     [](uint8_t m) { return m != 0; });
}

void ApplyUnicode(UnicodeForm form, std::string* text, std::vector<uint8_t>* marks) {
  if (IsUnchanged(*text, form)) return;
  std::string out;
  out.reserve(text->size() + text->size() / 8);
  std::vector<uint8_t> out_marks;
  for (size_t pos = 0; pos < text->size();) {
    const size_t end = StretchEnd(*text, pos);
    const std::string_view stretch(text->data() + pos, end - pos);
    if (IsUnchanged(stretch, form)) {
      out += stretch;
    } else {
      AppendNormalized(stretch, form, &out);
    }
    if (marks != nullptr) out_marks.resize(out.size(), AllMarked(*marks, pos, end));
    pos = end;
  }
  *text = std::move(out);
  if (marks != nullptr) *marks = std::move(out_marks);
}

void ApplyPrepend(const NormalizerStep& step, std::string* text, std::vector<uint8_t>* marks) {
  if (text->empty()) return;
  text->insert(0, step.to);
  if (marks != nullptr) marks->insert(marks->begin(), step.to.size(), marks->front());
}

void ApplyReplace(const NormalizerStep& step, std::string* text, std::vector<uint8_t>* marks) {
  size_t found = text->find(step.from);
  if (found == std::string::npos) return;
  std::string out;
  out.reserve(text->size() + text->size() / 4);
  std::vector<uint8_t> out_marks;
  size_t pos = 0;
  const auto copy_until = [&](size_t end) {
    out.append(*text, pos, end - pos);
    if (marks == nullptr) return;
    const auto first = marks->begin() + static_cast<std::ptrdiff_t>(pos);
    out_marks.insert(out_marks.end(), first, first + static_cast<std::ptrdiff_t>(end - pos));
  };
  for (; found != std::string::npos; found = text->find(step.from, pos)) {
    copy_until(found);
    out += step.to;
    pos = found + step.from.size();
    if (marks != nullptr) out_marks.resize(out.size(), AllMarked(*marks, found, pos));
  }
  copy_until(text->size());
  *text = std::move(out);
  if (marks != nullptr) *marks = std::move(out_marks);
}

void ApplyStrip(const NormalizerStep& step, std::string* text, std::vector<uint8_t>* marks) {
  const auto is_space = [](const Char& c) {
    return (CharClasses::Get().Of(c.code_point) & char_class::kSpace) != 0;
  };
  size_t begin = 0;
  size_t end = text->size();
  while (step.left && begin < end && is_space(DecodeChar(text->data() + begin)))
    begin += CharLength((*text)[begin]);
  while (step.right && end > begin) {
    const Char last = DecodeCharBefore(*text, end);
    if (!is_space(last)) break;
    end -= last.length;
  }
  *text = text->substr(begin, end - begin);
  if (marks != nullptr) {
    marks->resize(end);
    marks->erase(marks->begin(), marks->begin() + static_cast<std::ptrdiff_t>(begin));
  }
}

}  // namespace

std::string NormalizeUnicode(std::string_view text, UnicodeForm form) {
  std::string out(text);
  ApplyUnicode(form, &out, nullptr);
  return out;
}

void Normalizer::Apply(std::string* text, std::vector<uint8_t>* marks) const {
  for (const NormalizerStep& step : steps_) {
    switch (step.kind) {
      case NormalizerStep::Kind::kUnicode:
        ApplyUnicode(step.form, text, marks);
        break;
      case NormalizerStep::Kind::kPrepend:
        ApplyPrepend(step, text, marks);
        break;
      case NormalizerStep::Kind::kReplace:
        ApplyReplace(step, text, marks);
        break;
      case NormalizerStep::Kind::kStrip:
        ApplyStrip(step, text, marks);
        break;
    }
  }
}

}  // namespace firebrick
