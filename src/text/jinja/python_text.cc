#include "text/jinja/python_text.h"

#include <algorithm>
#include <iterator>

#include "base/utf8.h"

namespace firebrick::jinja {
namespace {

struct Char {
  uint32_t code_point;
  size_t length;
};

Char CharAt(std::string_view text, size_t at) {
  const Utf8Scan scan = ScanUtf8(text.substr(at));
  return {scan.code_point, std::max<size_t>(scan.length, 1)};
}

size_t CharBefore(std::string_view text, size_t end) {
  size_t begin = end - 1;
  while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
  return begin;
}

Value Piece(Context& context, const TextPtr& text, size_t begin, size_t end) {
  context.budget().Touch(end - begin);
  return Value::Of(SubText(text, begin, end, &context.budget()));
}

size_t NextSpace(std::string_view text, size_t at) {
  while (at < text.size()) {
    const Char c = CharAt(text, at);
    if (IsSpace(c.code_point)) break;
    at += c.length;
  }
  return at;
}

// One author for each character of `text`, mapped by `map(code point, offset, out)`.
template <typename Map>
TextPtr MapChars(Context& context, const TextPtr& text, Map map) {
  TextBuilder out(&context.budget());
  AuthorCursor authors(*text);
  std::string piece;
  bool piece_user = false;
  for (size_t at = 0; at < text->size();) {
    const Char c = CharAt(text->bytes(), at);
    const bool user = authors.UserAt(at);
    if (user != piece_user || piece.size() > 4096) {
      out.Append(piece, piece_user);
      piece.clear();
      piece_user = user;
    }
    map(c.code_point, at, &piece);
    at += c.length;
  }
  out.Append(piece, piece_user);
  return out.Build(text->markup());
}

// Python's rule: a capital sigma becomes final where a cased letter stands before it and none behind it,
// letters that ignore case passed over.
bool IsFinalSigma(std::string_view text, size_t at) {
  const auto ignorable = [](uint32_t c) {
    return c == '\'' || c == '.' || c == ':' || c == '^' || c == '`' || c == 0xAD || c == 0xB7 ||
           c == 0x2019 || (c >= 0x300 && c < 0x370);
  };
  bool cased_before = false;
  for (size_t end = at; end > 0;) {
    end = CharBefore(text, end);
    const uint32_t c = CharAt(text, end).code_point;
    if (ignorable(c)) continue;
    cased_before = IsCased(c);
    break;
  }
  if (!cased_before) return false;
  for (size_t next = at + 2; next < text.size();) {
    const Char c = CharAt(text, next);
    next += c.length;
    if (!ignorable(c.code_point)) return !IsCased(c.code_point);
  }
  return true;
}

void AppendLower(std::string_view text, uint32_t c, size_t at, std::string* out) {
  if (c == 0x3A3) {
    AppendUtf8(IsFinalSigma(text, at) ? 0x3C2 : 0x3C3, out);
  } else {
    AppendCase(c, CaseMap::kLower, out);
  }
}

bool IsLineEnd(uint32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

}  // namespace

TextPtr Strip(Context& context, const TextPtr& text, Side side, std::optional<std::string_view> chars) {
  const std::string_view bytes = text->bytes();
  context.budget().Touch(bytes.size());
  const auto strips = [&chars](std::string_view character, uint32_t code_point) {
    return chars.has_value() ? chars->find(character) != std::string_view::npos : IsSpace(code_point);
  };
  size_t begin = 0;
  size_t end = bytes.size();
  if (side != Side::kRight) {
    while (begin < end) {
      const Char c = CharAt(bytes, begin);
      if (!strips(bytes.substr(begin, c.length), c.code_point)) break;
      begin += c.length;
    }
  }
  if (side != Side::kLeft) {
    while (end > begin) {
      const size_t last = CharBefore(bytes, end);
      if (!strips(bytes.substr(last, end - last), CharAt(bytes, last).code_point)) break;
      end = last;
    }
  }
  return SubText(text, begin, end, &context.budget());
}

std::vector<Value> Split(Context& context, const TextPtr& text, std::optional<std::string_view> separator,
                         Int max_splits) {
  std::vector<Value> parts;
  const std::string_view bytes = text->bytes();
  const auto may_split = [&] { return max_splits < 0 || static_cast<Int>(parts.size()) < max_splits; };
  if (!separator.has_value()) {
    for (size_t at = SkipSpace(bytes, 0); at < bytes.size();) {
      const size_t end = may_split() ? NextSpace(bytes, at) : bytes.size();
      const size_t begin = at;
      at = SkipSpace(bytes, end);
      parts.push_back(Piece(context, text, begin, end));
    }
    return parts;
  }
  if (separator->empty()) Fail("empty separator");
  size_t begin = 0;
  while (may_split()) {
    const size_t end = bytes.find(*separator, begin);
    if (end == std::string_view::npos) break;
    parts.push_back(Piece(context, text, begin, end));
    begin = end + separator->size();
  }
  parts.push_back(Piece(context, text, begin, bytes.size()));
  return parts;
}

std::vector<Value> SplitRight(Context& context, const TextPtr& text,
                              std::optional<std::string_view> separator, Int max_splits) {
  if (max_splits < 0) return Split(context, text, separator, max_splits);
  std::vector<Value> parts;  // from the right
  const std::string_view bytes = text->bytes();
  if (!separator.has_value()) {
    for (size_t end = RStripSpace(bytes); end > 0;) {
      size_t begin = 0;
      if (static_cast<Int>(parts.size()) < max_splits) {
        for (begin = end; begin > 0; begin = CharBefore(bytes, begin)) {
          if (IsSpace(CharAt(bytes, CharBefore(bytes, begin)).code_point)) break;
        }
      }
      parts.push_back(Piece(context, text, begin, end));
      end = RStripSpace(bytes.substr(0, begin));
    }
  } else {
    if (separator->empty()) Fail("empty separator");
    size_t end = bytes.size();
    while (static_cast<Int>(parts.size()) < max_splits && end >= separator->size()) {
      const size_t at = bytes.rfind(*separator, end - separator->size());
      if (at == std::string_view::npos) break;
      parts.push_back(Piece(context, text, at + separator->size(), end));
      end = at;
    }
    parts.push_back(Piece(context, text, 0, end));
  }
  return {std::make_move_iterator(parts.rbegin()), std::make_move_iterator(parts.rend())};
}

std::vector<Value> SplitLines(Context& context, const TextPtr& text, bool keep_ends) {
  std::vector<Value> lines;
  const std::string_view bytes = text->bytes();
  size_t begin = 0;
  for (size_t at = 0; at < bytes.size();) {
    const Char c = CharAt(bytes, at);
    size_t next = at + c.length;
    if (IsLineEnd(c.code_point)) {
      if (c.code_point == '\r' && next < bytes.size() && bytes[next] == '\n') ++next;
      lines.push_back(Piece(context, text, begin, keep_ends ? next : at));
      begin = next;
    }
    at = next;
  }
  if (begin < bytes.size()) lines.push_back(Piece(context, text, begin, bytes.size()));
  return lines;
}

TextPtr Replace(Context& context, const TextPtr& text, std::string_view old, const TextPtr& replacement,
                Int count) {
  TextBuilder out(&context.budget());
  const std::string_view bytes = text->bytes();
  size_t done = 0;
  for (Int turn = 0, at = 0; count < 0 || turn < count; ++turn) {
    context.budget().Step();
    const size_t found = old.empty() ? static_cast<size_t>(at) : bytes.find(old, done);
    if (found == std::string_view::npos || found > bytes.size()) break;
    out.Append(*text, done, found);
    out.Append(*replacement);
    done = found + old.size();
    if (!old.empty()) continue;
    if (found >= bytes.size()) break;
    at = static_cast<Int>(found + CharAt(bytes, found).length);
  }
  out.Append(*text, std::min(done, bytes.size()), bytes.size());
  return out.Build(text->markup());
}

TextPtr ChangeCase(Context& context, const TextPtr& text, CaseMap map) {
  return MapChars(context, text, [&](uint32_t c, size_t at, std::string* out) {
    if (map == CaseMap::kLower) {
      AppendLower(text->bytes(), c, at, out);
    } else {
      AppendCase(c, map, out);
    }
  });
}

TextPtr Capitalize(Context& context, const TextPtr& text) {
  return MapChars(context, text, [&](uint32_t c, size_t at, std::string* out) {
    if (at == 0) {
      AppendCase(c, CaseMap::kTitle, out);
    } else {
      AppendLower(text->bytes(), c, at, out);
    }
  });
}

TextPtr TitleCase(Context& context, const TextPtr& text) {
  bool in_word = false;
  return MapChars(context, text, [&](uint32_t c, size_t at, std::string* out) {
    if (in_word) {
      AppendLower(text->bytes(), c, at, out);
    } else {
      AppendCase(c, CaseMap::kTitle, out);
    }
    in_word = IsCased(c);
  });
}

TextPtr TitleWords(Context& context, const TextPtr& text) {
  const auto is_gap = [](uint32_t c) {
    return IsSpace(c) || c == '-' || c == '(' || c == '{' || c == '[' || c == '<';
  };
  const std::string_view bytes = text->bytes();
  size_t word = 0;  // where the current run of gap characters, or of others, begins
  bool in_gap = false;
  return MapChars(context, text, [&](uint32_t c, size_t at, std::string* out) {
    if (at == 0 || is_gap(c) != in_gap) {
      word = at + CharAt(bytes, at).length;
      in_gap = is_gap(c);
      return AppendCase(c, CaseMap::kUpper, out);
    }
    size_t end = bytes.size();  // the word's end matters to a sigma only
    if (c == 0x3A3) {
      for (end = at; end < bytes.size() && !is_gap(CharAt(bytes, end).code_point);)
        end += CharAt(bytes, end).length;
    }
    AppendLower(bytes.substr(word, end - word), c, at - word, out);
  });
}

TextPtr SwapCase(Context& context, const TextPtr& text) {
  return MapChars(context, text, [&](uint32_t c, size_t at, std::string* out) {
    if (IsUpperCase(c)) {
      AppendLower(text->bytes(), c, at, out);
    } else {
      AppendCase(c, CaseMap::kUpper, out);
    }
  });
}

TextPtr Pad(Context& context, const TextPtr& text, Int width, const TextPtr& fill, Side text_side) {
  if (fill->num_chars() != 1) Fail("The fill character must be exactly one character long");
  const Int missing = width - static_cast<Int>(text->num_chars());
  if (missing <= 0) return text;
  if (missing > static_cast<Int>(context.budget().limits().max_memory_bytes / 4)) {
    context.budget().Expect(context.budget().limits().max_memory_bytes + 1);
  }
  const auto pad = static_cast<size_t>(missing);
  size_t left = 0;
  if (text_side == Side::kRight) left = pad;
  // As str.center: of an odd rest the left side gets more where the width is odd, too.
  if (text_side == Side::kBoth) left = pad / 2 + (pad & static_cast<size_t>(width) & 1);
  TextBuilder out(&context.budget());
  for (size_t i = 0; i < left; ++i) out.Append(*fill);
  out.Append(*text);
  for (size_t i = left; i < pad; ++i) out.Append(*fill);
  return out.Build(text->markup());
}

TextPtr TakeChars(Context& context, const TextPtr& text, Int first, Int step, size_t count) {
  if (count == 0) return SubText(text, 0, 0, &context.budget());
  context.budget().Touch(text->size());
  if (step == 1) {
    const auto begin = static_cast<size_t>(first);
    return SubText(text, text->OffsetOfChar(begin), text->OffsetOfChar(begin + count), &context.budget());
  }
  std::vector<size_t> offsets;  // of every character, and the end
  context.budget().Expect(text->num_chars() * sizeof(size_t));
  offsets.reserve(text->num_chars() + 1);
  for (size_t at = 0; at < text->size(); at += CharAt(text->bytes(), at).length) offsets.push_back(at);
  offsets.push_back(text->size());
  TextBuilder out(&context.budget());
  for (size_t i = 0; i < count; ++i) {
    const auto at = static_cast<size_t>(first + step * static_cast<Int>(i));
    out.Append(*text, offsets[at], offsets[at + 1]);
  }
  return out.Build(text->markup());
}

TextPtr Join(Context& context, const TextPtr& separator, const std::vector<Value>& items) {
  TextBuilder out(&context.budget());
  for (size_t i = 0; i < items.size(); ++i) {
    if (!items[i].is_text())
      Fail("sequence item {}: expected str instance, {} found", i, items[i].TypeName());
    if (i > 0) out.Append(*separator);
    out.Append(*items[i].text());
  }
  return out.Build(separator->markup());
}

bool AllChars(std::string_view text, bool (*predicate)(uint32_t)) {
  for (size_t at = 0; at < text.size();) {
    const Char c = CharAt(text, at);
    if (!predicate(c.code_point)) return false;
    at += c.length;
  }
  return !text.empty();
}

bool IsUpperText(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = CharAt(text, at);
    if (IsLowerCase(c.code_point) || (IsCased(c.code_point) && !IsUpperCase(c.code_point))) return false;
    any = any || IsUpperCase(c.code_point);
    at += c.length;
  }
  return any;
}

bool IsLowerText(std::string_view text) {
  bool any = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = CharAt(text, at);
    if (IsCased(c.code_point) && !IsLowerCase(c.code_point)) return false;
    any = any || IsLowerCase(c.code_point);
    at += c.length;
  }
  return any;
}

bool IsTitleText(std::string_view text) {
  bool any = false;
  bool in_word = false;
  for (size_t at = 0; at < text.size();) {
    const Char c = CharAt(text, at);
    const bool lower = IsLowerCase(c.code_point);
    const bool cased = IsCased(c.code_point);
    if (cased && lower != in_word) return false;
    any = any || cased;
    in_word = cased;
    at += c.length;
  }
  return any;
}

}  // namespace firebrick::jinja
