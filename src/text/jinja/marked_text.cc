#include "text/jinja/marked_text.h"

#include <algorithm>

#include "base/utf8.h"

namespace firebrick::jinja {
namespace {

bool StartsChar(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

constexpr size_t kTextOverhead = 128;

}  // namespace

Text::Text(std::string bytes, std::vector<Run> runs, bool markup, Budget* budget)
    : bytes_(std::move(bytes)), runs_(std::move(runs)), budget_(nullptr), markup_(markup) {
  num_chars_ = static_cast<size_t>(std::count_if(bytes_.begin(), bytes_.end(), StartsChar));
  if (budget != nullptr) {
    budget->Allocate(Cost());
    budget_ = budget;
  }
}

Text::~Text() {
  if (budget_ != nullptr) budget_->Release(Cost());
}

size_t Text::Cost() const { return kTextOverhead + bytes_.size() + runs_.size() * sizeof(Run); }

TextPtr Text::Make(std::string bytes, bool user, Budget* budget) {
  std::vector<Run> runs;
  if (!bytes.empty()) runs.push_back({bytes.size(), user});
  if (budget != nullptr) budget->Touch(bytes.size());
  return std::make_shared<const Text>(std::move(bytes), std::move(runs), false, budget);
}

bool Text::AnyUser() const {
  return std::any_of(runs_.begin(), runs_.end(), [](const Run& run) { return run.user; });
}

size_t Text::OffsetOfChar(size_t char_idx) const {
  if (ascii() || char_idx == 0) return std::min(char_idx, bytes_.size());
  size_t offset = 0;
  for (size_t seen = 0; offset < bytes_.size(); ++offset) {
    if (StartsChar(bytes_[offset]) && seen++ == char_idx) break;
  }
  return offset;
}

size_t Text::CharOfOffset(size_t offset) const {
  if (ascii()) return offset;
  return static_cast<size_t>(
      std::count_if(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(offset), StartsChar));
}

TextBuilder::~TextBuilder() {
  if (budget_ != nullptr) budget_->Release(charged_);
}

void TextBuilder::Grow(size_t bytes) {
  if (bytes > max_bytes_ - bytes_.size()) {
    throw Failure{StatusCode::kResourceExhausted,
                  fmt::format("the prompt grows beyond {} bytes", max_bytes_)};
  }
  if (budget_ == nullptr) return;
  budget_->Touch(bytes);
  budget_->Allocate(bytes);
  charged_ += bytes;
}

void TextBuilder::Append(std::string_view bytes, bool user) {
  if (bytes.empty()) return;
  Grow(bytes.size());
  bytes_ += bytes;
  if (!runs_.empty() && runs_.back().user == user) {
    runs_.back().end = bytes_.size();
    return;
  }
  runs_.push_back({bytes_.size(), user});
  if (budget_ != nullptr) {
    budget_->Allocate(sizeof(Run));
    charged_ += sizeof(Run);
  }
}

void TextBuilder::Append(const Text& text, size_t begin, size_t end) {
  auto run = std::upper_bound(text.runs().begin(), text.runs().end(), begin,
                              [](size_t at, const Run& r) { return at < r.end; });
  for (; begin < end; ++run) {
    const size_t stop = std::min(end, run->end);
    Append(text.bytes().substr(begin, stop - begin), run->user);
    begin = stop;
  }
}

TextPtr TextBuilder::Build(bool markup) {
  if (budget_ != nullptr) budget_->Release(charged_);
  charged_ = 0;
  std::string bytes = std::move(bytes_);
  std::vector<Run> runs = std::move(runs_);
  bytes_.clear();
  runs_.clear();
  return std::make_shared<const Text>(std::move(bytes), std::move(runs), markup, budget_);
}

TextPtr SubText(const TextPtr& text, size_t begin, size_t end, Budget* budget) {
  if (begin == 0 && end == text->size()) return text;
  TextBuilder out(budget);
  if (begin < end) out.Append(*text, begin, end);
  return out.Build(text->markup());
}

}  // namespace firebrick::jinja
