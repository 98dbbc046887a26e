// str(), repr() and json.dumps().
#include <algorithm>
#include <cmath>

#include "base/json.h"
#include "base/utf8.h"
#include "text/jinja/operations.h"
#include "text/jinja/python_chars.h"

namespace firebrick::jinja {
namespace {

void AppendTextRepr(const Text& text, TextBuilder* out) {
  const std::string_view bytes = text.bytes();
  if (text.markup()) out->Append("Markup(", false);
  const bool double_quotes =
      bytes.find('\'') != std::string_view::npos && bytes.find('"') == std::string_view::npos;
  const char quote = double_quotes ? '"' : '\'';
  const std::string_view quote_text = double_quotes ? "\"" : "'";
  AuthorCursor authors(text);
  out->Append(quote_text, authors.UserAt(0));
  for (size_t at = 0; at < bytes.size();) {
    const bool user = authors.UserAt(at);
    const Utf8Scan scan = ScanUtf8(bytes.substr(at));
    const uint32_t c = scan.code_point;
    if (c == '\\' || c == static_cast<uint32_t>(quote)) {
      out->Append(c == '\\' ? std::string_view("\\\\") : double_quotes ? "\\\"" : "\\'", user);
    } else if (c == '\n' || c == '\r' || c == '\t') {
      out->Append(c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t", user);
    } else if (IsPrintable(c)) {
      out->Append(bytes.substr(at, scan.length), user);
    } else if (c < 0x100) {
      out->Append(fmt::format("\\x{:02x}", c), user);
    } else {
      out->Append(c < 0x10000 ? fmt::format("\\u{:04x}", c) : fmt::format("\\U{:08x}", c), user);
    }
    at += std::max<size_t>(scan.length, 1);
  }
  out->Append(quote_text, text.runs().empty() ? false : text.runs().back().user);
  if (text.markup()) out->Append(")", false);
}

std::string NumberRepr(const Value& value) {
  if (value.is_bool()) return value.boolean() ? "True" : "False";
  if (value.is_int()) return fmt::format("{}", value.integer());
  return FloatRepr(value.number());
}

class JsonWriter {
 public:
  JsonWriter(Context& context, const JsonStyle& style) : context_(context), style_(style) {}

  TextPtr Run(const Value& value) {
    Write(value, 0);
    return Text::Make(std::move(out_), user_, &context_.budget());
  }

 private:
  void Write(const Value& value, size_t level) {
    context_.budget().Step();
    context_.budget().Expect(out_.size());
    user_ = user_ || value.FromUser();
    if (value.is_none()) {
      out_ += "null";
    } else if (value.is_number()) {
      out_ += Number(value);
    } else if (value.is_text()) {
      String(value.text()->bytes());
    } else if (value.is_sequence()) {
      Sequence(value.list()->items, level);
    } else if (value.is_dict()) {
      Mapping(*value.dict(), level);
    } else {
      Fail("Object of type {} is not JSON serializable", value.TypeName());
    }
  }

  static std::string Number(const Value& value) {
    if (value.is_bool()) return value.boolean() ? "true" : "false";
    if (value.is_float() && !std::isfinite(value.number())) {
      return std::isnan(value.number()) ? "NaN" : value.number() > 0 ? "Infinity" : "-Infinity";
    }
    return NumberRepr(value);
  }

  void String(std::string_view text) {
    context_.budget().Touch(text.size());
    context_.budget().Expect(out_.size() + 2 * text.size());
    if (!style_.ascii) return AppendJsonString(text, &out_);
    std::string quoted;
    AppendJsonString(text, &quoted);
    for (size_t at = 0; at < quoted.size();) {
      const Utf8Scan scan = ScanUtf8(std::string_view(quoted).substr(at));
      if (scan.code_point < 0x80) {
        out_ += quoted[at];
      } else if (scan.code_point < 0x10000) {
        out_ += fmt::format("\\u{:04x}", scan.code_point);
      } else {
        const uint32_t pair = scan.code_point - 0x10000;
        out_ += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (pair >> 10), 0xDC00 + (pair & 0x3FF));
      }
      at += std::max<size_t>(scan.length, 1);
    }
  }

  void Line(size_t level) {
    if (!style_.indent.has_value()) return;
    out_ += '\n';
    context_.budget().Expect(out_.size() + level * style_.indent->size());
    for (size_t i = 0; i < level; ++i) out_ += *style_.indent;
  }

  void Sequence(const std::vector<Value>& items, size_t level) {
    if (items.empty()) {
      out_ += "[]";
      return;
    }
    out_ += '[';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      Line(level + 1);
      Write(items[i], level + 1);
    }
    Line(level);
    out_ += ']';
  }

  std::string Key(const Value& key) const {
    if (key.is_text()) return std::string(key.text()->bytes());
    if (key.is_none()) return "null";
    if (key.is_number()) return Number(key);
    Fail("keys must be str, int, float, bool or None, not {}", key.TypeName());
  }

  void Mapping(const Dict& dict, size_t level) {
    if (dict.items.empty()) {
      out_ += "{}";
      return;
    }
    std::vector<const Dict::Item*> items;
    for (const Dict::Item& item : dict.items) items.push_back(&item);
    if (style_.sort_keys) {
      std::stable_sort(items.begin(), items.end(), [this](const Dict::Item* a, const Dict::Item* b) {
        return Less(context_, a->first, b->first);
      });
    }
    out_ += '{';
    for (size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out_ += style_.item_separator;
      Line(level + 1);
      user_ = user_ || items[i]->first.FromUser();
      String(Key(items[i]->first));
      out_ += style_.key_separator;
      Write(items[i]->second, level + 1);
    }
    Line(level);
    out_ += '}';
  }

  Context& context_;
  const JsonStyle& style_;
  std::string out_;
  bool user_ = false;
};

void AppendSequenceRepr(Context& context, const List& list, TextBuilder* out) {
  out->Append(list.tuple ? "(" : "[", false);
  for (size_t i = 0; i < list.items.size(); ++i) {
    if (i > 0) out->Append(", ", false);
    AppendRepr(context, list.items[i], out);
  }
  if (list.tuple && list.items.size() == 1) out->Append(",", false);
  out->Append(list.tuple ? ")" : "]", false);
}

void AppendDictRepr(Context& context, const Dict& dict, TextBuilder* out) {
  out->Append("{", false);
  bool first = true;
  for (const auto& [key, value] : dict.items) {
    if (!first) out->Append(", ", false);
    first = false;
    AppendRepr(context, key, out);
    out->Append(": ", false);
    AppendRepr(context, value, out);
  }
  out->Append("}", false);
}

}  // namespace

void AppendRepr(Context& context, const Value& value, TextBuilder* out) {
  const Budget::Level level(context.budget());
  context.budget().Step();
  if (value.is_undefined()) {
    out->Append("Undefined", false);
  } else if (value.is_none()) {
    out->Append("None", false);
  } else if (value.is_number()) {
    out->Append(NumberRepr(value), value.FromUser());
  } else if (value.is_text()) {
    AppendTextRepr(*value.text(), out);
  } else if (value.is_sequence()) {
    AppendSequenceRepr(context, *value.list(), out);
  } else if (value.is_dict()) {
    AppendDictRepr(context, *value.dict(), out);
  } else {
    value.object()->Repr(context, out);
  }
}

void AppendStr(Context& context, const Value& value, TextBuilder* out) {
  if (value.is_text()) {
    out->Append(*value.text());
  } else if (!value.is_undefined()) {
    AppendRepr(context, value, out);
  }
}

TextPtr Str(Context& context, const Value& value) {
  if (value.is_text() && !value.text()->markup()) return value.text();
  TextBuilder out(&context.budget());
  AppendStr(context, value, &out);
  return out.Build();
}

TextPtr SoftStr(Context& context, const Value& value) {
  return value.is_text() ? value.text() : Str(context, value);
}

TextPtr EscapeHtml(Context& context, const TextPtr& text) {
  if (text->markup()) return text;
  TextBuilder out(&context.budget());
  AuthorCursor authors(*text);
  size_t done = 0;
  const std::string_view bytes = text->bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    const size_t special = std::string_view("&<>'\"").find(bytes[at]);
    if (special == std::string_view::npos) continue;
    static constexpr std::string_view kEscapes[] = {"&amp;", "&lt;", "&gt;", "&#39;", "&#34;"};
    out.Append(*text, done, at);
    out.Append(kEscapes[special], authors.UserAt(at));
    done = at + 1;
  }
  out.Append(*text, done, bytes.size());
  return out.Build(true);
}

TextPtr DumpJson(Context& context, const Value& value, const JsonStyle& style) {
  return JsonWriter(context, style).Run(value);
}

}  // namespace firebrick::jinja
