#include "text/added_tokens.h"

#include <algorithm>

#include "text/unicode_class.h"

namespace firebrick {
namespace {

uint16_t ClassesAt(std::string_view text, size_t pos) {
  return CharClasses::Get().Of(DecodeChar(text.data() + pos).code_point);
}
uint16_t ClassesBefore(std::string_view text, size_t end) {
  return CharClasses::Get().Of(DecodeCharBefore(text, end).code_point);
}

bool TouchesWord(std::string_view text, size_t begin, size_t end) {
  return (begin > 0 && (ClassesBefore(text, begin) & char_class::kWord) != 0) ||
         (end < text.size() && (ClassesAt(text, end) & char_class::kWord) != 0);
}

bool InsideOne(const std::vector<TextRange>& ranges, size_t begin, size_t end) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), begin,
                                      [](size_t pos, const TextRange& range) { return pos < range.begin; });
  return after != ranges.begin() && std::prev(after)->end >= end;
}

}  // namespace

bool IsControlToken(const AddedToken& token) {
  if (token.special) return true;
  const std::string_view text = token.text;
  constexpr std::string_view kOpen = "<\uff5c";
  constexpr std::string_view kClose = "\uff5c>";
  return (text.size() > 4 && text.starts_with("<|") && text.ends_with("|>")) ||
         (text.size() > kOpen.size() + kClose.size() && text.starts_with(kOpen) && text.ends_with(kClose));
}

void AddedTokenTrie::Add(std::string_view text, const AddedToken& token) {
  uint32_t node = 1U + static_cast<unsigned char>(text[0]);
  for (const char c : text.substr(1)) {
    const auto byte = static_cast<unsigned char>(c);
    uint32_t child = FindChild(node, byte);
    if (child == 0) {
      child = static_cast<uint32_t>(nodes_.size());
      nodes_.push_back({.next_sibling = nodes_[node].first_child, .byte = byte});
      nodes_[node].first_child = child;
    }
    node = child;
  }
  if (nodes_[node].token >= 0) return;  // the first one keeps the text
  nodes_[node].token = static_cast<int32_t>(tokens_.size());
  tokens_.push_back(
      {token.id, token.special, IsControlToken(token), token.single_word, token.lstrip, token.rstrip});
}

uint32_t AddedTokenTrie::FindChild(uint32_t node, unsigned char byte) const {
  for (uint32_t child = nodes_[node].first_child; child != 0; child = nodes_[child].next_sibling) {
    if (nodes_[child].byte == byte) return child;
  }
  return 0;
}

AddedTokenTrie::Candidate AddedTokenTrie::LongestAt(std::string_view text, size_t pos,
                                                    const AddedTokenPolicy& policy) const {
  Candidate best;
  uint32_t node = 1U + static_cast<unsigned char>(text[pos]);
  for (size_t at = pos + 1; node != 0; ++at) {
    if (nodes_[node].token >= 0) {
      const Token& token = tokens_[static_cast<size_t>(nodes_[node].token)];
      if (policy.mode == AddedTokenPolicy::Mode::kTrusted) {
        if (!token.control || InsideOne(*policy.trusted, pos, at)) best = {&token, at, true};
      } else {
        best = {&token, at, policy.mode == AddedTokenPolicy::Mode::kAll || !token.special};
      }
    }
    if (at == text.size()) break;
    node = FindChild(node, static_cast<unsigned char>(text[at]));
  }
  return best;
}

void AddedTokenTrie::FindAll(std::string_view text, const AddedTokenPolicy& policy,
                             std::vector<Match>* matches) const {
  if (tokens_.empty()) return;
  size_t taken = 0;  // behind the last match
  for (size_t pos = 0; pos < text.size();) {
    const Node& first = nodes_[1U + static_cast<unsigned char>(text[pos])];
    if (first.first_child == 0 && first.token < 0) {
      ++pos;
      continue;
    }
    const Candidate found = LongestAt(text, pos, policy);
    if (found.token == nullptr) {
      ++pos;
      continue;
    }
    size_t begin = pos;
    size_t end = found.end;
    pos = end;
    if (!found.allowed || (found.token->single_word && TouchesWord(text, begin, end))) continue;
    while (found.token->lstrip && begin > taken && (ClassesBefore(text, begin) & char_class::kSpace) != 0) {
      begin -= DecodeCharBefore(text, begin).length;
    }
    while (found.token->rstrip && end < text.size() && (ClassesAt(text, end) & char_class::kSpace) != 0) {
      end += CharLength(text[end]);
    }
    matches->push_back({{static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, found.token->id});
    taken = end;
    pos = std::max(pos, end);
  }
}

}  // namespace firebrick
