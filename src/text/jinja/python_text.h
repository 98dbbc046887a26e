// The methods of Python's str on marked text. Positions are byte offsets; counts and widths are characters.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "text/jinja/context.h"
#include "text/jinja/python_chars.h"

namespace firebrick::jinja {

enum class Side : uint8_t { kLeft = 1, kRight = 2, kBoth = 3 };

// Strips space, or the characters of `chars`.
TextPtr Strip(Context& context, const TextPtr& text, Side side, std::optional<std::string_view> chars);
// At runs of space (separator absent), or at each separator; at most `max_splits` times (negative: no limit).
std::vector<Value> Split(Context& context, const TextPtr& text, std::optional<std::string_view> separator,
                         Int max_splits);
std::vector<Value> SplitRight(Context& context, const TextPtr& text,
                              std::optional<std::string_view> separator, Int max_splits);
std::vector<Value> SplitLines(Context& context, const TextPtr& text, bool keep_ends);
// At most `count` times (negative: no limit). An empty `old` matches between all characters.
TextPtr Replace(Context& context, const TextPtr& text, std::string_view old, const TextPtr& replacement,
                Int count);
TextPtr ChangeCase(Context& context, const TextPtr& text, CaseMap map);
TextPtr Capitalize(Context& context, const TextPtr& text);
TextPtr TitleCase(Context& context, const TextPtr& text);  // str.title
TextPtr TitleWords(Context& context,
                   const TextPtr& text);  // the filter: words begin behind space and - ( { [ <
TextPtr SwapCase(Context& context, const TextPtr& text);
// Pads to `width` characters; `left` and `right` say on which sides.
TextPtr Pad(Context& context, const TextPtr& text, Int width, const TextPtr& fill, Side text_side);
// text[start:stop:step] over characters, already clipped: `count` characters from `first`.
TextPtr TakeChars(Context& context, const TextPtr& text, Int first, Int step, size_t count);
TextPtr Join(Context& context, const TextPtr& separator, const std::vector<Value>& items);

// True where the text has a character and `predicate` holds for all of them.
bool AllChars(std::string_view text, bool (*predicate)(uint32_t));
bool IsUpperText(std::string_view text);
bool IsLowerText(std::string_view text);
bool IsTitleText(std::string_view text);

}  // namespace firebrick::jinja
