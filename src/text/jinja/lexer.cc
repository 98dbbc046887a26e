#include "text/jinja/lexer.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "base/utf8.h"
#include "text/jinja/python_chars.h"

namespace firebrick::jinja {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsNameStart(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (static_cast<unsigned char>(c) & 0x80) != 0;
}
bool IsNameChar(char c) { return IsNameStart(c) || IsDigit(c); }

// Line ends become \n, and one at the very end is dropped.
std::string NormalizeLines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (!out.empty() && out.back() == '\n') out.pop_back();
  return out;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  std::vector<Token> Run() {
    while (at_ < source_.size()) LexRoot();
    Push(TokenKind::kEnd);
    return std::move(tokens_);
  }

 private:
  static constexpr size_t kMaxTokens = 400'000;

  Token& Push(TokenKind kind) {
    if (tokens_.size() >= kMaxTokens) Fail("the template has more than {} tokens", kMaxTokens);
    tokens_.push_back({});
    tokens_.back().kind = kind;
    tokens_.back().line = line_;
    return tokens_.back();
  }
  void PushText(TokenKind kind, std::string_view text) { Push(kind).text = text; }

  bool Looking(std::string_view text) const {
    return std::string_view(source_).substr(at_, text.size()) == text;
  }
  char Peek(size_t ahead = 0) const { return at_ + ahead < source_.size() ? source_[at_ + ahead] : '\0'; }
  size_t SpaceEnd(size_t from) const { return SkipSpace(source_, from); }
  void MoveTo(size_t to) {
    line_ += static_cast<int>(std::count(source_.begin() + static_cast<std::ptrdiff_t>(at_),
                                         source_.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
    at_ = to;
    line_starting_ = at_ > 0 && source_[at_ - 1] == '\n';
  }

  // Data up to the next tag, then the tag.
  void LexRoot() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        PushText(TokenKind::kData, std::string_view(source_).substr(at_));
        MoveTo(source_.size());
        return;
      }
      const char next = source_[tag + 1];
      if (next == '%' || next == '#' || next == '{') break;
    }
    const char type = source_[tag + 1];
    size_t after = tag + 2;
    char sign = '\0';
    if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) sign = source_[after++];
    EmitData(tag, sign, type == '{');
    if (type == '#') return LexComment(after);
    if (type == '%' && LexRaw(after)) return;
    MoveTo(after);
    Push(type == '%' ? TokenKind::kBlockBegin : TokenKind::kVariableBegin);
    LexTag(type == '%');
  }

  // The data from at_ up to `end`, stripped as the sign of the tag behind it says.
  void EmitData(size_t end, char sign, bool variable) {
    std::string_view data = std::string_view(source_).substr(at_, end - at_);
    if (sign == '-') {
      data = data.substr(0, RStripSpace(data));
    } else if (sign != '+' && !variable) {
      const size_t newline = data.rfind('\n');
      const size_t start = newline == std::string_view::npos ? 0 : newline + 1;
      if ((start > 0 || line_starting_) && SkipSpace(data, start) == data.size())
        data = data.substr(0, start);
    }
    if (!data.empty()) PushText(TokenKind::kData, data);
    MoveTo(end);
  }

  // Behind the end of a block tag or comment: `-` eats all space, nothing eats one newline, `+` eats none.
  size_t AfterEnd(size_t end, char sign) const {
    if (sign == '-') return SpaceEnd(end);
    if (sign != '+' && end < source_.size() && source_[end] == '\n') return end + 1;
    return end;
  }

  void LexComment(size_t from) {
    if (from == source_.size()) return MoveTo(from);  // nothing to end
    const size_t end = source_.find("#}", from);
    if (end == std::string::npos) Fail("line {}: a comment has no end", line_);
    const char sign = end > from ? source_[end - 1] : '\0';
    MoveTo(AfterEnd(end + 2, sign));
  }

  // {% raw %} … {% endraw %}: true where there was one.
  bool LexRaw(size_t from) {
    size_t end = SpaceEnd(from);
    if (source_.compare(end, 3, "raw") != 0) return false;
    end = SpaceEnd(end + 3);
    if (source_.compare(end, 3, "-%}") == 0) {
      end = SpaceEnd(end + 3);
    } else if (source_.compare(end, 2, "%}") == 0) {
      end += 2;
    } else {
      return false;
    }
    MoveTo(end);
    if (end == source_.size()) return true;  // nothing to end
    for (size_t tag = source_.find("{%", at_); tag != std::string::npos; tag = source_.find("{%", tag + 1)) {
      size_t after = tag + 2;
      char sign = '\0';
      if (after < source_.size() && (source_[after] == '-' || source_[after] == '+')) sign = source_[after++];
      after = SpaceEnd(after);
      if (source_.compare(after, 6, "endraw") != 0) continue;
      after = SpaceEnd(after + 6);
      char end_sign = '\0';
      if (after < source_.size() && (source_[after] == '-' || source_[after] == '+'))
        end_sign = source_[after++];
      if (source_.compare(after, 2, "%}") != 0) continue;
      EmitData(tag, sign, false);
      MoveTo(AfterEnd(after + 2, end_sign));
      return true;
    }
    Fail("line {}: a raw block has no end", line_);
  }

  void LexTag(bool block) {
    const int begin_line = line_;
    std::string brackets;
    while (at_ < source_.size()) {
      if (brackets.empty() && LexTagEnd(block)) return;
      LexToken(&brackets);
    }
    Fail("line {}: a tag has no end", begin_line);
  }

  bool LexTagEnd(bool block) {
    const std::string_view close = block ? "%}" : "}}";
    char sign = '\0';
    size_t end = at_;
    if (Peek() == '-' || (block && Peek() == '+')) {
      sign = Peek();
      ++end;
    }
    if (source_.compare(end, 2, close) != 0) return false;
    Push(block ? TokenKind::kBlockEnd : TokenKind::kVariableEnd);
    end += 2;
    if (block) {
      MoveTo(AfterEnd(end, sign));
    } else {
      MoveTo(sign == '-' ? SpaceEnd(end) : end);
    }
    return true;
  }

  void LexToken(std::string* brackets) {
    if (const size_t end = SpaceEnd(at_); end > at_) return MoveTo(end);
    const char c = Peek();
    if (IsDigit(c)) return LexNumber();
    if (IsNameStart(c)) {
      size_t end = at_;
      while (end < source_.size() && IsNameChar(source_[end])) ++end;
      PushText(TokenKind::kName, std::string_view(source_).substr(at_, end - at_));
      return MoveTo(end);
    }
    if (c == '"' || c == '\'') return LexString(c);
    LexOperator(brackets);
  }

  // Digits with single underscores between them; npos where there are none.
  size_t DigitsEnd(size_t from, std::string_view digits) const {
    size_t end = from;
    while (end < source_.size() && digits.find(source_[end]) != std::string_view::npos) {
      ++end;
      if (end + 1 < source_.size() && source_[end] == '_' &&
          digits.find(source_[end + 1]) != std::string_view::npos) {
        ++end;
      }
    }
    return end;
  }

  bool LexFloat() {
    static constexpr std::string_view kDecimal = "0123456789";
    if (at_ > 0 && source_[at_ - 1] == '.') return false;
    size_t end = DigitsEnd(at_, kDecimal);
    bool is_float = false;
    if (end < source_.size() && source_[end] == '.' && DigitsEnd(end + 1, kDecimal) > end + 1) {
      end = DigitsEnd(end + 1, kDecimal);
      is_float = true;
    }
    if (end < source_.size() && (source_[end] == 'e' || source_[end] == 'E')) {
      size_t exponent = end + 1;
      if (exponent < source_.size() && (source_[exponent] == '+' || source_[exponent] == '-')) ++exponent;
      if (DigitsEnd(exponent, kDecimal) > exponent) {
        end = DigitsEnd(exponent, kDecimal);
        is_float = true;
      }
    }
    if (!is_float) return false;
    std::string digits = source_.substr(at_, end - at_);
    std::erase(digits, '_');
    double number = 0;
    const auto [last, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    if (error != std::errc() || last != digits.data() + digits.size())
      Fail("line {}: bad number {}", line_, digits);
    Push(TokenKind::kFloat).number = number;
    MoveTo(end);
    return true;
  }

  void LexNumber() {
    if (LexFloat()) return;
    int base = 10;
    size_t begin = at_;
    std::string_view digits = "0123456789";
    const char kind = static_cast<char>(Peek(1) | 0x20);
    if (Peek() == '0' && (kind == 'x' || kind == 'o' || kind == 'b')) {
      base = kind == 'x' ? 16 : kind == 'o' ? 8 : 2;
      digits = base == 16 ? "0123456789abcdefABCDEF" : digits.substr(0, static_cast<size_t>(base));
      begin += 2;
    } else if (Peek() == '0') {
      digits = "0";
    }
    const size_t end = DigitsEnd(begin, digits);
    if (end == begin) Fail("line {}: bad number", line_);
    Int value = 0;
    for (size_t i = begin; i < end; ++i) {
      if (source_[i] == '_') continue;
      const char c = source_[i];
      value = value * base + (IsDigit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
      if (value > (Int{1} << 100)) Fail("line {}: a number is too large", line_);
    }
    Push(TokenKind::kInteger).integer = value;
    MoveTo(end);
  }

  void LexString(char quote) {
    size_t end = at_ + 1;
    while (end < source_.size() && source_[end] != quote) end += source_[end] == '\\' ? 2 : 1;
    if (end >= source_.size()) Fail("line {}: a string has no end", line_);
    const std::string_view raw = std::string_view(source_).substr(at_ + 1, end - at_ - 1);
    Push(TokenKind::kString).text = Unescape(raw);
    MoveTo(end + 1);
  }

  // `count` hexadecimal digits at `at`.
  uint32_t HexCode(std::string_view raw, size_t at, size_t count) const {
    uint32_t code = 0;
    if (at + count > raw.size()) Fail("line {}: a \\x, \\u or \\U in a string is cut short", line_);
    const auto [last, error] = std::from_chars(raw.data() + at, raw.data() + at + count, code, 16);
    if (error != std::errc() || last != raw.data() + at + count) {
      Fail("line {}: a \\x, \\u or \\U in a string needs {} hexadecimal digits", line_, count);
    }
    if (code > 0x10FFFF || (code >= 0xD800 && code < 0xE000)) {
      Fail("line {}: a string holds U+{:04X}, which is no character", line_, code);
    }
    return code;
  }

  std::string Unescape(std::string_view raw) const {
    static constexpr std::string_view kFrom = "\\'\"abfnrtv";
    static constexpr std::string_view kTo = "\\'\"\a\b\f\n\r\t\v";
    std::string out;
    for (size_t i = 0; i < raw.size();) {
      if (raw[i] != '\\' || i + 1 >= raw.size()) {
        out += raw[i++];
        continue;
      }
      const char c = raw[i + 1];
      if (const size_t known = kFrom.find(c); known != std::string_view::npos) {
        out += kTo[known];
        i += 2;
      } else if (c == '\n') {
        i += 2;
      } else if (c == 'x' || c == 'u' || c == 'U') {
        const size_t count = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        AppendUtf8(HexCode(raw, i + 2, count), &out);
        i += 2 + count;
      } else if (c >= '0' && c <= '7') {
        uint32_t code = 0;
        size_t end = i + 1;
        for (; end < raw.size() && end < i + 4 && raw[end] >= '0' && raw[end] <= '7'; ++end) {
          code = code * 8 + static_cast<uint32_t>(raw[end] - '0');
        }
        AppendUtf8(code, &out);
        i = end;
      } else if (c == 'N') {
        Fail("line {}: \\N{{…}} in a string is not supported; write the character itself", line_);
      } else {
        out += '\\';
        ++i;
      }
    }
    return out;
  }

  void LexOperator(std::string* brackets) {
    static constexpr std::array<std::string_view, 25> kOperators = {
        "//", "**", "==", "!=", ">=", "<=", "+", "-", "/", "*", "%", "~", "[",
        "]",  "(",  ")",  "{",  "}",  ">",  "<", "=", ".", ":", "|", ","};
    for (const std::string_view op : kOperators) {
      if (!Looking(op)) continue;
      Balance(op[0], brackets);
      PushText(TokenKind::kOperator, op);
      return MoveTo(at_ + op.size());
    }
    if (Peek() == ';') Fail("line {}: unexpected ';'", line_);
    Fail("line {}: unexpected character '{}'", line_, source_.substr(at_, 1));
  }

  void Balance(char c, std::string* brackets) const {
    static constexpr std::string_view kOpen = "{[(", kClose = "}])";
    static constexpr size_t kMaxOpen = 200;
    if (const size_t open = kOpen.find(c); open != std::string_view::npos) {
      if (brackets->size() >= kMaxOpen) Fail("line {}: more than {} open brackets", line_, kMaxOpen);
      *brackets += kClose[open];
    } else if (kClose.find(c) != std::string_view::npos) {
      if (brackets->empty() || brackets->back() != c) Fail("line {}: unexpected '{}'", line_, c);
      brackets->pop_back();
    }
  }

  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> tokens_;
};

}  // namespace

std::vector<Token> Tokenize(std::string_view source) { return Lexer(NormalizeLines(source)).Run(); }

}  // namespace firebrick::jinja
