#include "text/pre_tokenizer.h"

#include <algorithm>
#include <string_view>
#include <utility>

namespace firebrick {
namespace {

// A stretch of a piece: matched or between matches.
struct Stretch {
  TextRange range;
  bool is_match = false;
};

std::vector<Stretch> CoverPiece(const std::vector<TextRange>& matches, uint32_t size, bool invert) {
  std::vector<Stretch> stretches;
  uint32_t pos = 0;
  for (const TextRange& match : matches) {
    if (match.begin > pos) stretches.push_back({{pos, match.begin}, invert});
    stretches.push_back({match, !invert});
    pos = match.end;
  }
  if (pos < size) stretches.push_back({{pos, size}, invert});
  return stretches;
}

std::vector<TextRange> MergeWithPrevious(const std::vector<Stretch>& stretches) {
  std::vector<TextRange> out;
  bool previous_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match && !previous_match && !out.empty()) {
      out.back().end = stretch.range.end;
    } else {
      out.push_back(stretch.range);
    }
    previous_match = stretch.is_match;
  }
  return out;
}

std::vector<TextRange> MergeWithNext(const std::vector<Stretch>& stretches) {
  std::vector<TextRange> out;
  bool previous_match = false;
  for (auto it = stretches.rbegin(); it != stretches.rend(); ++it) {
    if (it->is_match && !previous_match && !out.empty()) {
      out.back().begin = it->range.begin;
    } else {
      out.push_back(it->range);
    }
    previous_match = it->is_match;
  }
  std::reverse(out.begin(), out.end());
  return out;
}

std::vector<TextRange> MergeContiguous(const std::vector<Stretch>& stretches) {
  std::vector<TextRange> out;
  bool previous_match = false;
  for (const Stretch& stretch : stretches) {
    if (stretch.is_match == previous_match && !out.empty()) {
      out.back().end = stretch.range.end;
    } else {
      out.push_back(stretch.range);
    }
    previous_match = stretch.is_match;
  }
  return out;
}

std::vector<TextRange> Behave(const std::vector<Stretch>& stretches, SplitBehavior behavior) {
  std::vector<TextRange> out;
  switch (behavior) {
    case SplitBehavior::kMergedWithPrevious:
      return MergeWithPrevious(stretches);
    case SplitBehavior::kMergedWithNext:
      return MergeWithNext(stretches);
    case SplitBehavior::kContiguous:
      return MergeContiguous(stretches);
    case SplitBehavior::kIsolated:
    case SplitBehavior::kRemoved:
      break;
  }
  for (const Stretch& stretch : stretches) {
    if (behavior == SplitBehavior::kIsolated || !stretch.is_match) out.push_back(stretch.range);
  }
  return out;
}

Status Split(const PreTokenizerStep& step, TextPieces* text) {
  std::vector<TextRange> out;
  out.reserve(std::max(text->pieces.size(), text->text.size() / 6));
  std::vector<TextRange> matches;
  for (const TextRange& piece : text->pieces) {
    const std::string_view view(text->text.data() + piece.begin, piece.size());
    matches.clear();
    RETURN_IF_ERROR(step.pattern.FindMatches(view, &matches));
    const auto append = [&](const TextRange& range) {
      if (range.size() > 0) out.push_back({piece.begin + range.begin, piece.begin + range.end});
    };
    if (step.behavior == SplitBehavior::kIsolated) {  // the common way: every stretch is a piece
      uint32_t pos = 0;
      for (const TextRange& match : matches) {
        append({pos, match.begin});
        append(match);
        pos = match.end;
      }
      append({pos, piece.size()});
    } else {
      for (const TextRange& range : Behave(CoverPiece(matches, piece.size(), step.invert), step.behavior))
        append(range);
    }
  }
  text->pieces = std::move(out);
  return OkStatus();
}

// Puts `prefix` before each piece for which `wanted(text, is_first)` holds.
template <typename Wanted>
void PrependTo(std::string_view prefix, const Wanted& wanted, TextPieces* text) {
  std::string out;
  out.reserve(text->text.size() + 64);
  for (size_t i = 0; i < text->pieces.size(); ++i) {
    TextRange& piece = text->pieces[i];
    const std::string_view view(text->text.data() + piece.begin, piece.size());
    const auto begin = static_cast<uint32_t>(out.size());
    if (wanted(view, i == 0)) out += prefix;
    out += view;
    piece = {begin, static_cast<uint32_t>(out.size())};
  }
  text->text = std::move(out);
}

void ReplaceSpaces(std::string_view replacement, TextPieces* text) {
  std::string out;
  out.reserve(text->text.size() * 2);
  for (TextRange& piece : text->pieces) {
    const auto begin = static_cast<uint32_t>(out.size());
    for (const char c : std::string_view(text->text.data() + piece.begin, piece.size())) {
      if (c == ' ') {
        out += replacement;
      } else {
        out += c;
      }
    }
    piece = {begin, static_cast<uint32_t>(out.size())};
  }
  text->text = std::move(out);
}

}  // namespace

Status PreTokenizer::Apply(TextPieces* text) const {
  for (const PreTokenizerStep& step : steps_) {
    if (step.kind == PreTokenizerStep::Kind::kByteLevel && step.add_prefix_space) {
      PrependTo(
          " ", [](std::string_view piece, bool) { return !piece.starts_with(' '); }, text);
    }
    if (step.kind == PreTokenizerStep::Kind::kMetaspace) {
      ReplaceSpaces(step.replacement, text);
      const auto wanted = [&](std::string_view piece, bool is_first) {
        if (piece.starts_with(step.replacement)) return false;
        return step.prepend == PrependScheme::kAlways ||
               (step.prepend == PrependScheme::kFirst && is_first && text->starts_text);
      };
      if (step.prepend != PrependScheme::kNever) PrependTo(step.replacement, wanted, text);
    }
    if (step.use_pattern) RETURN_IF_ERROR(Split(step, text));
  }
  return OkStatus();
}

}  // namespace firebrick
