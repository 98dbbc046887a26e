// Python's % operator on strings, and str.format.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/utf8.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_text.h"

namespace firebrick::jinja {
namespace {

constexpr int kMaxPrecision = 100;
constexpr int kMaxWidth = 1 << 20;

struct Spec {
  char align = '\0';  // < > ^ =, or none
  std::string fill = " ";
  char sign = '-';
  bool alternate = false;
  int width = 0;
  int precision = -1;
  char grouping = '\0';
  char type = '\0';
};

std::string IntDigits(Int value, int base, bool upper) {
  if (value == 0) return "0";
  std::string digits;
  for (; value > 0; value /= base) {
    const int digit = static_cast<int>(value % base);
    digits += static_cast<char>(digit < 10 ? '0' + digit : (upper ? 'A' : 'a') + digit - 10);
  }
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string Group(std::string digits, char separator) {
  const size_t end = std::min(digits.find_first_not_of("0123456789"), digits.size());
  for (size_t at = end; at > 3; at -= 3) digits.insert(at - 3, 1, separator);
  return digits;
}

std::string FloatDigits(double number, const Spec& spec) {
  if (!std::isfinite(number)) return std::isnan(number) ? "nan" : "inf";
  const int precision = std::min(spec.precision < 0 ? 6 : spec.precision, kMaxPrecision);
  const std::string format = fmt::format("%{}.*{}", spec.alternate ? "#" : "", spec.type);
  const int size = std::snprintf(nullptr, 0, format.c_str(), precision, number);
  std::string out(static_cast<size_t>(size), '\0');
  std::snprintf(out.data(), out.size() + 1, format.c_str(), precision, number);
  return out;
}

// The text of a number without its padding: sign and digits apart, so that zeros can go between.
struct NumberText {
  std::string sign;
  std::string digits;
};

std::string SignText(bool negative, const Spec& spec) {
  const char sign = negative ? '-' : spec.sign;
  return std::string(negative || sign != '-' ? 1 : 0, sign);
}

NumberText FormatInteger(Int value, const Spec& spec) {
  NumberText out;
  out.sign = SignText(value < 0, spec);
  const Int magnitude = value < 0 ? -value : value;
  switch (spec.type) {
    case 'x':
    case 'X':
      if (spec.alternate) out.sign += {'0', spec.type};
      out.digits = IntDigits(magnitude, 16, spec.type == 'X');
      break;
    case 'o':
      if (spec.alternate) out.sign += "0o";
      out.digits = IntDigits(magnitude, 8, false);
      break;
    case 'b':
      if (spec.alternate) out.sign += "0b";
      out.digits = IntDigits(magnitude, 2, false);
      break;
    default:
      out.digits = IntDigits(magnitude, 10, false);
  }
  if (spec.grouping != '\0') out.digits = Group(out.digits, spec.grouping);
  return out;
}

NumberText FormatFloat(double value, Spec spec) {
  NumberText out;
  const bool negative = std::signbit(value) && !std::isnan(value);
  out.sign = SignText(negative, spec);
  const double magnitude = std::abs(value);
  if (spec.type == '%') {
    spec.type = 'f';
    out.digits = FloatDigits(magnitude * 100, spec);
    out.digits += '%';
  } else if (spec.type == '\0' && spec.precision < 0) {
    out.digits = FloatRepr(magnitude);
  } else {
    if (spec.type == '\0') spec.type = 'g';
    out.digits = FloatDigits(magnitude, spec);
  }
  if (spec.grouping != '\0') out.digits = Group(out.digits, spec.grouping);
  return out;
}

void AppendPadded(Context& context, const TextPtr& text, const Spec& spec, char default_align,
                  TextBuilder* out) {
  const char align = spec.align == '\0' || spec.align == '=' ? default_align : spec.align;
  const Side side = align == '<' ? Side::kLeft : align == '>' ? Side::kRight : Side::kBoth;
  const TextPtr fill = Text::Make(spec.fill, false, &context.budget());
  const Int missing = spec.width - static_cast<Int>(text->num_chars());
  if (side == Side::kBoth && missing > 0) {  // unlike str.center, the odd one goes to the right
    const TextPtr left =
        Pad(context, text, static_cast<Int>(text->num_chars()) + missing / 2, fill, Side::kRight);
    out->Append(*Pad(context, left, spec.width, fill, Side::kLeft));
    return;
  }
  out->Append(*Pad(context, text, spec.width, fill, side));
}

void AppendNumber(Context& context, const NumberText& number, const Spec& spec, bool user, TextBuilder* out) {
  if (spec.align == '=') {
    const TextPtr digits = Text::Make(number.digits, user, &context.budget());
    out->Append(number.sign, user);
    Spec inner = spec;
    inner.align = '>';
    inner.width = std::max(0, spec.width - static_cast<int>(number.sign.size()));
    AppendPadded(context, digits, inner, '>', out);
    return;
  }
  AppendPadded(context, Text::Make(number.sign + number.digits, user, &context.budget()), spec, '>', out);
}

TextPtr Repr(Context& context, const Value& value) {
  TextBuilder out(&context.budget());
  AppendRepr(context, value, &out);
  return out.Build();
}

TextPtr Truncate(Context& context, const TextPtr& text, int chars) {
  if (chars < 0 || static_cast<size_t>(chars) >= text->num_chars()) return text;
  return SubText(text, 0, text->OffsetOfChar(static_cast<size_t>(chars)), &context.budget());
}

// Reads a number at `at`; -1 where there is none.
int ReadNumber(std::string_view text, size_t* at) {
  if (*at >= text.size() || text[*at] < '0' || text[*at] > '9') return -1;
  int number = 0;
  for (; *at < text.size() && text[*at] >= '0' && text[*at] <= '9'; ++*at) {
    number = number * 10 + (text[*at] - '0');
    if (number > kMaxWidth) Fail("a width in a format string is too large");
  }
  return number;
}

class PercentFormatter {
 public:
  PercentFormatter(Context& context, const TextPtr& format, const Value& args)
      : context_(context), format_(*format), args_(args), out_(&context.budget()) {}

  TextPtr Run() {
    const std::string_view text = format_.bytes();
    for (size_t at = 0; at < text.size();) {
      const size_t percent = std::min(text.find('%', at), text.size());
      out_.Append(format_, at, percent);
      at = percent;
      if (at < text.size()) at = Conversion(at + 1);
    }
    if (!IsMapping() && next_ < NumArgs()) Fail("not all arguments converted during string formatting");
    return out_.Build(format_.markup());
  }

 private:
  // Python asks only whether the argument can be subscripted.
  bool IsMapping() const {
    return args_.is_dict() || args_.is_list() || args_.is_undefined() ||
           (args_.is_object() && args_.object()->Subscriptable());
  }

  size_t NumArgs() const { return args_.is_tuple() ? args_.list()->items.size() : 1; }

  Value NextArg() {
    if (next_ >= NumArgs()) Fail("not enough arguments for format string");
    const size_t index = next_++;
    return args_.is_tuple() ? args_.list()->items[index] : args_;
  }

  int Star(std::string_view text, size_t* at) {
    if (*at >= text.size() || text[*at] != '*') return ReadNumber(text, at);
    ++*at;
    const Value width = NextArg();
    if (!width.is_integral()) Fail("* wants int");
    if (width.integer() > kMaxWidth || width.integer() < 0) Fail("a width in a format string is too large");
    return static_cast<int>(width.integer());
  }

  size_t Conversion(size_t at) {
    const std::string_view text = format_.bytes();
    Spec spec;
    std::optional<Value> named;
    if (at < text.size() && text[at] == '(') {
      const size_t end = text.find(')', at);
      if (end == std::string_view::npos) Fail("incomplete format key");
      if (!args_.is_dict()) Fail("format requires a mapping");
      const Value* value = args_.dict()->Find(text.substr(at + 1, end - at - 1));
      if (value == nullptr) Fail("the format string names a key that is not there");
      named = *value;
      at = end + 1;
    }
    for (; at < text.size() && std::string_view("-+ 0#").find(text[at]) != std::string_view::npos; ++at) {
      if (text[at] == '-') spec.align = '<';
      if (text[at] == '+' || (text[at] == ' ' && spec.sign != '+')) spec.sign = text[at];
      if (text[at] == '0' && spec.align == '\0') spec.align = '=';
      if (text[at] == '#') spec.alternate = true;
    }
    if (spec.align == '=') spec.fill.assign(1, '0');
    spec.width = std::max(0, Star(text, &at));
    if (at < text.size() && text[at] == '.') spec.precision = std::max(0, Star(text, &++at));
    if (at >= text.size()) Fail("incomplete format");
    spec.type = text[at];
    if (spec.type == '%') {
      out_.Append("%", false);
    } else {
      Convert(named.has_value() ? *named : NextArg(), &spec);
    }
    return at + 1;
  }

  void Convert(const Value& value, Spec* spec) {
    switch (spec->type) {
      case 's':
      case 'r':
      case 'a': {
        TextPtr text = spec->type == 's' ? SoftStr(context_, value) : Repr(context_, value);
        if (format_.markup()) text = EscapeHtml(context_, text);
        spec->fill.assign(1, ' ');
        AppendPadded(context_, Truncate(context_, text, spec->precision), *spec, '>', &out_);
        return;
      }
      case 'c':
        return ConvertChar(value, *spec);
      case 'd':
      case 'i':
      case 'u':
      case 'x':
      case 'X':
      case 'o': {
        RequireDefined(value);
        const bool decimal = spec->type == 'd' || spec->type == 'i' || spec->type == 'u';
        if (!value.is_integral() && !(decimal && value.is_float())) {
          Fail("%{} format: an integer is required, not {}", spec->type, value.TypeName());
        }
        NumberText number = FormatInteger(value.is_float() ? ToInt(value.number()) : value.integer(), *spec);
        const auto wanted = static_cast<size_t>(std::clamp(spec->precision, 0, kMaxPrecision));
        if (number.digits.size() < wanted) number.digits.insert(0, wanted - number.digits.size(), '0');
        AppendNumber(context_, number, *spec, value.FromUser(), &out_);
        return;
      }
      case 'e':
      case 'E':
      case 'f':
      case 'F':
      case 'g':
      case 'G':
        RequireDefined(value);
        if (!value.is_number()) Fail("must be real number, not {}", value.TypeName());
        AppendNumber(context_, FormatFloat(value.number(), *spec), *spec, value.FromUser(), &out_);
        return;
      default:
        Fail("unsupported format character '{}'", spec->type);
    }
  }

  void ConvertChar(const Value& value, const Spec& spec) {
    TextPtr text;
    if (value.is_text() && value.text()->num_chars() == 1) {
      text = value.text();
    } else if (value.is_integral() && IsCharacter(value.integer())) {
      std::string bytes;
      AppendUtf8(static_cast<uint32_t>(value.integer()), &bytes);
      text = Text::Make(std::move(bytes), value.FromUser(), &context_.budget());
    } else {
      Fail("%c requires int or char");
    }
    Spec padded = spec;
    padded.fill.assign(1, ' ');
    AppendPadded(context_, text, padded, '>', &out_);
  }
  static bool IsCharacter(Int code) {
    return code >= 0 && code <= 0x10FFFF && (code < 0xD800 || code > 0xDFFF);
  }

  Context& context_;
  const Text& format_;
  const Value& args_;
  TextBuilder out_;
  size_t next_ = 0;
};

class BraceFormatter {
 public:
  BraceFormatter(Context& context, const TextPtr& format, const Args& args)
      : context_(context), format_(*format), args_(args), out_(&context.budget()) {}

  TextPtr Run() {
    const std::string_view text = format_.bytes();
    for (size_t at = 0; at < text.size();) {
      const size_t brace = std::min(text.find_first_of("{}", at), text.size());
      out_.Append(format_, at, brace);
      if (brace == text.size()) break;
      if (brace + 1 < text.size() && text[brace + 1] == text[brace]) {
        out_.Append(format_, brace, brace + 1);
        at = brace + 2;
        continue;
      }
      if (text[brace] == '}') Fail("Single '}}' encountered in format string");
      const size_t end = text.find('}', brace);
      if (end == std::string_view::npos) Fail("expected '}}' before end of string");
      Field(text.substr(brace + 1, end - brace - 1));
      at = end + 1;
    }
    return out_.Build(format_.markup());
  }

 private:
  void Field(std::string_view field) {
    if (field.find('{') != std::string_view::npos) Fail("nested fields in a format string are not supported");
    const size_t colon = std::min(field.find(':'), field.size());
    std::string_view name = field.substr(0, colon);
    const std::string_view spec_text = colon < field.size() ? field.substr(colon + 1) : std::string_view();
    char conversion = '\0';
    if (name.size() >= 2 && name[name.size() - 2] == '!') {
      conversion = name.back();
      name.remove_suffix(2);
    }
    Value value = Lookup(name);
    if (conversion == 'r') value = Value::Of(Repr(context_, value));
    if (conversion == 's') value = Value::Of(SoftStr(context_, value));
    if (conversion != '\0' && conversion != 'r' && conversion != 's') Fail("Unknown conversion specifier");
    Emit(value, ParseSpec(spec_text), !spec_text.empty());
  }

  Value Lookup(std::string_view name) {
    const size_t head_end = std::min(name.find_first_of(".["), name.size());
    const std::string_view head = name.substr(0, head_end);
    Value value = First(head);
    for (size_t at = head_end; at < name.size();) {
      if (name[at] == '.') {
        const size_t end = std::min(name.find_first_of(".[", at + 1), name.size());
        value = GetAttribute(context_, value, name.substr(at + 1, end - at - 1));
        at = end;
      } else {
        const size_t end = name.find(']', at);
        if (name[at] != '[' || end == std::string_view::npos) Fail("Missing ']' in format string");
        const std::string_view key = name.substr(at + 1, end - at - 1);
        size_t digit = 0;
        const int index = ReadNumber(key, &digit);
        const bool is_index = index >= 0 && digit == key.size();
        value = GetItem(context_, value, is_index ? Value::Of(Int{index}) : context_.Str(key));
        at = end + 1;
      }
    }
    return value;
  }

  Value First(std::string_view head) {
    size_t digit = 0;
    int index = ReadNumber(head, &digit);
    if (head.empty()) index = next_++;
    if (head.empty() || (index >= 0 && digit == head.size())) {
      if (static_cast<size_t>(index) >= args_.positional.size()) {
        Fail("Replacement index {} out of range for positional args tuple", index);
      }
      return args_.positional[static_cast<size_t>(index)];
    }
    for (const auto& [name, value] : args_.keywords) {
      if (name == head) return value;
    }
    Fail("the format string names a key that is not there");
  }

  static Spec ParseSpec(std::string_view text) {
    static constexpr std::string_view kAligns = "<>^=";
    const auto is_align = [](char c) { return kAligns.find(c) != std::string_view::npos; };
    Spec spec;
    size_t at = 0;
    size_t fill = 1;  // bytes of the first character
    while (fill < text.size() && (text[fill] & 0xC0) == 0x80) ++fill;
    if (fill < text.size() && is_align(text[fill])) {
      spec.fill = text.substr(0, fill);
      spec.align = text[fill];
      at = fill + 1;
    } else if (!text.empty() && is_align(text[0])) {
      spec.align = text[0];
      at = 1;
    }
    if (at < text.size() && std::string_view("+- ").find(text[at]) != std::string_view::npos)
      spec.sign = text[at++];
    if (at < text.size() && text[at] == '#') spec.alternate = (++at, true);
    if (at < text.size() && text[at] == '0') {
      if (spec.align == '\0') {
        spec.align = '=';
        spec.fill.assign(1, '0');
      }
      ++at;
    }
    spec.width = std::max(0, ReadNumber(text, &at));
    if (at < text.size() && (text[at] == ',' || text[at] == '_')) spec.grouping = text[at++];
    if (at < text.size() && text[at] == '.') {
      spec.precision = ReadNumber(text, &++at);
      if (spec.precision < 0) Fail("Format specifier missing precision");
    }
    if (at < text.size()) spec.type = text[at++];
    if (at != text.size()) Fail("Invalid format specifier");
    return spec;
  }

  void Emit(const Value& value, const Spec& spec, bool has_spec) {
    const bool integer_type = std::string_view("dxXobn").find(spec.type) != std::string_view::npos;
    const bool float_type = std::string_view("eEfFgG%").find(spec.type) != std::string_view::npos;
    if (value.is_integral() && (spec.type == '\0' || integer_type) && (value.is_int() || has_spec)) {
      AppendNumber(context_, FormatInteger(value.integer(), spec), spec, value.FromUser(), &out_);
    } else if (value.is_number() && !value.is_bool() &&
               (float_type || (value.is_float() && spec.type == '\0'))) {
      AppendNumber(context_, FormatFloat(value.number(), spec), spec, value.FromUser(), &out_);
    } else {
      if (has_spec && !value.is_text())
        Fail("unsupported format string for an object of type '{}'", value.TypeName());
      if (spec.type != '\0' && spec.type != 's') {
        Fail("Unknown format code '{}' for object of type '{}'", spec.type, value.TypeName());
      }
      TextPtr text = SoftStr(context_, value);
      if (format_.markup()) text = EscapeHtml(context_, text);
      Spec plain = spec;
      if (plain.align == '=') Fail("'=' alignment not allowed in string format specifier");
      AppendPadded(context_, Truncate(context_, text, spec.precision), plain, '<', &out_);
    }
  }

  Context& context_;
  const Text& format_;
  const Args& args_;
  TextBuilder out_;
  int next_ = 0;
};

}  // namespace

TextPtr FormatPercent(Context& context, const TextPtr& format, const Value& args) {
  return PercentFormatter(context, format, args).Run();
}

TextPtr FormatBraces(Context& context, const TextPtr& format, const Args& args) {
  return BraceFormatter(context, format, args).Run();
}

}  // namespace firebrick::jinja
