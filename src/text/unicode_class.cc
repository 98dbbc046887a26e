#include "text/unicode_class.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <vector>

#include "base/status.h"

namespace firebrick {
namespace {

struct CategoryRange {
  uint32_t first;
  uint8_t category;
};
struct InertRange {
  uint32_t first, last;
};
#include "text/unicode_tables.inc"

// The order of categories in the table.
enum Category : uint8_t {
  kCn,
  kCc,
  kCf,
  kCs,
  kCo,
  kLu,
  kLl,
  kLt,
  kLm,
  kLo,
  kMn,
  kMc,
  kMe,
  kNd,
  kNl,
  kNo,  // NOLINT
  kPc,
  kPd,
  kPs,
  kPe,
  kPi,
  kPf,
  kPo,
  kSm,
  kSc,
  kSk,
  kSo,
  kZs,
  kZl,
  kZp  // NOLINT
};

uint16_t ClassesOfCategory(uint8_t category) {
  using namespace char_class;
  switch (category) {
    case kLu:
    case kLt:
      return kLetter | kUpperish | kWord;
    case kLl:
      return kLetter | kLowerish | kWord;
    case kLm:
    case kLo:
      return kLetter | kUpperish | kLowerish | kWord;
    case kMn:
    case kMc:
    case kMe:
      return kMark | kUpperish | kLowerish | kWord;
    case kNd:
    case kNl:
      return kNumber | kWord;
    case kNo:
      return kNumber;
    case kPc:
      return kPunctuation | kWord;
    case kZs:
    case kZl:
    case kZp:
      return kSpace;
    default:
      if (category >= kPd && category <= kPo) return kPunctuation;
      return category >= kSm && category <= kSo ? kSymbol : 0;
  }
}

struct WordRange {
  uint32_t first, last;
};
// Word characters by other properties: Join_Control, and the enclosed letters of Other_Alphabetic.
constexpr WordRange kOtherWord[] = {
    {0x200c, 0x200d}, {0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};

void AddClass(std::vector<uint16_t>* classes, uint32_t first, uint32_t last, uint16_t bit) {
  for (uint32_t code = first; code <= last; ++code) (*classes)[code] |= bit;
}

std::vector<uint16_t> AllClasses() {
  std::vector<uint16_t> classes(0x110000, 0);
  for (size_t i = 0; i < std::size(kCategoryRanges); ++i) {
    const uint32_t end = i + 1 < std::size(kCategoryRanges) ? kCategoryRanges[i + 1].first : 0x110000;
    std::fill(classes.begin() + kCategoryRanges[i].first, classes.begin() + end,
              ClassesOfCategory(kCategoryRanges[i].category));
  }
  for (const WordRange& range : kOtherWord) AddClass(&classes, range.first, range.last, char_class::kWord);
  for (const InertRange& range : kInertRanges)
    AddClass(&classes, range.first, range.last, char_class::kInert);
  AddClass(&classes, 0x09, 0x0d, char_class::kSpace);
  AddClass(&classes, 0x85, 0x85, char_class::kSpace);
  AddClass(&classes, '\n', '\n', char_class::kNewline);
  AddClass(&classes, '\r', '\r', char_class::kNewline);
  return classes;
}

}  // namespace

const CharClasses& CharClasses::Get() {
  static const CharClasses classes;
  return classes;
}

CharClasses::CharClasses() {
  const std::vector<uint16_t> all = AllClasses();
  constexpr size_t kBlockBytes = 256 * sizeof(uint16_t);
  size_t count = 0;
  for (size_t block = 0; block < std::size(block_of_); ++block) {
    const uint16_t* classes = all.data() + block * 256;
    size_t same = 0;
    while (same < count && std::memcmp(blocks_ + same * 256, classes, kBlockBytes) != 0) ++same;
    if (same == count) {
      CHECK(count < std::size(blocks_) / 256);
      std::memcpy(blocks_ + count++ * 256, classes, kBlockBytes);
    }
    block_of_[block] = static_cast<uint16_t>(same);
  }
}

}  // namespace firebrick
