#include "weights/safetensors.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "base/json.h"
#include "weights/printable.h"
#include "weights/tensor_size.h"

namespace firebrick {
namespace {

constexpr std::string_view kDamaged = "the file is damaged; fetch or convert it again";

// What a tensor entry of the header holds, and which of its three members were seen.
struct Entry {
  std::string name;
  std::string dtype;
  std::vector<int64_t> shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

// Walks the header: {"name": {"dtype": "F32", "shape": [..], "data_offsets": [b, e]}, "__metadata__": {"k":
// "v"}}. Every event that does not fit that shape stops the parse, so depth and size stay bounded by
// construction.
class HeaderHandler : public nlohmann::json_sax<Json> {
 public:
  std::vector<Entry> entries;
  std::string error;

  bool start_object(size_t /*elements*/) override {
    if (depth_ == 0) {
      depth_ = 1;
      return true;
    }
    if (depth_ != 1) return Fail("an object where a value belongs");
    depth_ = 2;
    in_metadata_ = key_ == "__metadata__";
    if (in_metadata_) return seen_metadata_ ? Fail("'__metadata__' is there twice") : (seen_metadata_ = true);
    if (entries.size() >= SafetensorsLimits::kTensors) return Fail("more than 1048576 tensors");
    if (!IsCleanName(key_, SafetensorsLimits::kNameBytes)) {
      return Fail("a tensor name is empty, longer than 1024 bytes or holds control characters");
    }
    entries.push_back({});
    entries.back().name = key_;
    seen_ = 0;
    member_ = 0;
    return true;
  }

  bool end_object() override {
    --depth_;
    if (depth_ == 1 && !in_metadata_ && seen_ != (kDtype | kShape | kOffsets)) {
      return Fail("the tensor lacks dtype, shape or data_offsets");
    }
    return true;
  }

  bool key(string_t& text) override {
    if (depth_ == 1) {
      key_ = std::move(text);
      return true;
    }
    if (in_metadata_) return true;
    member_ = text == "dtype" ? kDtype : text == "shape" ? kShape : text == "data_offsets" ? kOffsets : 0U;
    if (member_ == 0) return Fail(fmt::format("the unknown member '{}'", Printable(text)));
    if ((seen_ & member_) != 0) return Fail(fmt::format("'{}' is there twice", text));
    seen_ |= member_;
    return true;
  }

  bool start_array(size_t /*elements*/) override {
    if (depth_ != 2 || in_metadata_ || (member_ != kShape && member_ != kOffsets) || in_array_) {
      return Fail("an array where none belongs");
    }
    in_array_ = true;
    num_offsets_ = 0;
    return true;
  }

  bool end_array() override {
    in_array_ = false;
    return member_ != kOffsets || num_offsets_ == 2 || Fail("data_offsets does not hold two numbers");
  }

  bool number_unsigned(number_unsigned_t value) override {
    if (!in_array_) return Fail("a number where none belongs");
    if (value > INT64_MAX) return Fail(fmt::format("the number {} is above 2^63 - 1", value));
    Entry& entry = entries.back();
    if (member_ == kShape) {
      if (entry.shape.size() >= SafetensorsLimits::kDimensions) return Fail("more than 8 dimensions");
      entry.shape.push_back(static_cast<int64_t>(value));
      return true;
    }
    if (num_offsets_ == 2) return Fail("data_offsets does not hold two numbers");
    (num_offsets_ == 0 ? entry.begin : entry.end) = value;
    ++num_offsets_;
    return true;
  }

  bool string(string_t& text) override {
    if (depth_ == 2 && in_metadata_) return true;
    if (depth_ != 2 || member_ != kDtype || in_array_) return Fail("a string where none belongs");
    entries.back().dtype = text;
    return true;
  }

  bool null() override { return Fail("null where a value belongs"); }
  bool boolean(bool /*value*/) override { return Fail("a boolean where none belongs"); }
  bool number_integer(number_integer_t value) override {
    return Fail(fmt::format("the negative number {}", value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    return Fail(fmt::format("the number '{}', which is no whole number", Printable(text, 40)));
  }
  bool binary(binary_t& /*value*/) override { return Fail("binary data"); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*e*/) override {
    error = fmt::format("the header is no valid JSON at byte {}", position);
    return false;
  }

 private:
  static constexpr unsigned kDtype = 1;
  static constexpr unsigned kShape = 2;
  static constexpr unsigned kOffsets = 4;

  bool Fail(std::string_view what) {
    error = depth_ >= 1 && !key_.empty() ? fmt::format("entry '{}': {}", Printable(key_), what)
                                         : std::string(what);
    return false;
  }

  int depth_ = 0;  // 0 before the header, 1 in it, 2 in an entry
  bool in_metadata_ = false;
  bool seen_metadata_ = false;
  bool in_array_ = false;
  std::string key_;
  unsigned member_ = 0;
  unsigned seen_ = 0;
  int num_offsets_ = 0;
};

struct Dtype {
  std::string_view name;
  uint32_t bits;
  std::optional<WeightType> weight;
  bool opaque;  // integers and booleans: listed, never weights
};

constexpr Dtype kDtypes[] = {
    {"F32", 32, WeightType::kF32, false},    {"F16", 16, WeightType::kF16, false},
    {"BF16", 16, WeightType::kBF16, false},  {"BOOL", 8, std::nullopt, true},
    {"U8", 8, std::nullopt, true},           {"I8", 8, std::nullopt, true},
    {"U16", 16, std::nullopt, true},         {"I16", 16, std::nullopt, true},
    {"U32", 32, std::nullopt, true},         {"I32", 32, std::nullopt, true},
    {"U64", 64, std::nullopt, true},         {"I64", 64, std::nullopt, true},
    {"F64", 64, std::nullopt, false},        {"C64", 64, std::nullopt, false},
    {"F8_E5M2", 8, std::nullopt, false},     {"F8_E4M3", 8, std::nullopt, false},
    {"F8_E8M0", 8, std::nullopt, false},     {"F8_E4M3FNUZ", 8, std::nullopt, false},
    {"F8_E5M2FNUZ", 8, std::nullopt, false}, {"F6_E2M3", 6, std::nullopt, false},
    {"F6_E3M2", 6, std::nullopt, false},     {"F4", 4, std::nullopt, false},
};

class Placer {
 public:
  Placer(std::span<const std::byte> bytes, uint64_t data_begin, std::string_view file_name,
         uint32_t file_index)
      : bytes_(bytes), data_begin_(data_begin), file_name_(file_name), file_index_(file_index) {}

  Result<SafetensorsFile> Place(std::vector<Entry> entries) {
    std::stable_sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
      return a.begin != b.begin ? a.begin < b.begin : a.end < b.end;
    });
    uint64_t expected = 0;
    for (Entry& entry : entries) RETURN_IF_ERROR(PlaceEntry(&entry, &expected));
    if (data_begin_ + expected != bytes_.size()) {
      return DataLoss("{}: {} bytes after the last tensor belong to none; {}", file_name_,
                      bytes_.size() - data_begin_ - expected, kDamaged);
    }
    return std::move(file_);
  }

 private:
  Status PlaceEntry(Entry* entry, uint64_t* expected) {
    const auto* dtype = std::find_if(std::begin(kDtypes), std::end(kDtypes),
                                     [&](const Dtype& candidate) { return candidate.name == entry->dtype; });
    if (dtype == std::end(kDtypes)) {
      return DataLoss("{}: tensor '{}' has the unknown dtype '{}'; {}", file_name_, entry->name,
                      Printable(entry->dtype, 40), kDamaged);
    }
    if (entry->end < entry->begin || entry->end > bytes_.size() - data_begin_) {
      return DataLoss(
          "{}: tensor '{}' lies at data offsets {} to {}, but the file holds {} bytes of data: it is "
          "truncated or damaged; fetch it again",
          file_name_, entry->name, entry->begin, entry->end, bytes_.size() - data_begin_);
    }
    if (entry->begin != *expected) {
      return DataLoss("{}: tensor '{}' begins at data offset {}, the one before ends at {}: they {}; {}",
                      file_name_, entry->name, entry->begin, *expected,
                      entry->begin < *expected ? "overlap" : "leave a hole", kDamaged);
    }
    const std::optional<int64_t> count = CountElements(entry->shape);
    const std::optional<uint64_t> bits =
        count ? CheckedMultiply(static_cast<uint64_t>(*count), dtype->bits) : std::nullopt;
    const uint64_t num_bytes = entry->end - entry->begin;
    if (!bits || *bits % 8 != 0 || *bits / 8 != num_bytes) {
      return DataLoss(
          "{}: tensor '{}' at data offset {}: {} of shape [{}] does not take the {} bytes that "
          "data_offsets gives it; {}",
          file_name_, entry->name, entry->begin, dtype->name, fmt::join(entry->shape, ", "), num_bytes,
          kDamaged);
    }
    *expected = entry->end;
    return Keep(entry, *dtype);
  }

  Status Keep(Entry* entry, const Dtype& dtype) {
    if (dtype.weight) {
      const uint64_t offset = data_begin_ + entry->begin;
      file_.tensors.push_back({std::move(entry->name), *dtype.weight, std::move(entry->shape),
                               bytes_.subspan(offset, entry->end - entry->begin), offset, file_index_});
      return OkStatus();
    }
    if (!dtype.opaque) {
      return Unimplemented(
          "{}: tensor '{}' has dtype {}; F32, F16 and BF16 can be read: use the model's BF16 files, or "
          "a GGUF file of it",
          file_name_, entry->name, dtype.name);
    }
    file_.opaque.push_back({std::move(entry->name), std::move(entry->dtype), std::move(entry->shape),
                            entry->end - entry->begin, file_index_});
    return OkStatus();
  }

  std::span<const std::byte> bytes_;
  uint64_t data_begin_;
  std::string_view file_name_;
  uint32_t file_index_;
  SafetensorsFile file_;
};

Status RefuseDuplicateNames(const std::vector<Entry>& entries, std::string_view file_name) {
  std::vector<std::string_view> names;
  names.reserve(entries.size());
  for (const Entry& entry : entries) names.push_back(entry.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return OkStatus();
  return DataLoss("{}: tensor '{}' is there twice; {}", file_name, *twice, kDamaged);
}

}  // namespace

Result<SafetensorsFile> ParseSafetensors(std::span<const std::byte> bytes, std::string_view file_name,
                                         uint32_t file_index) {
  uint64_t header_bytes = 0;
  if (bytes.size() < sizeof(header_bytes)) {
    return DataLoss("{} has {} bytes, too few for a safetensors file; {}", file_name, bytes.size(), kDamaged);
  }
  std::memcpy(&header_bytes, bytes.data(), sizeof(header_bytes));
  if (header_bytes > SafetensorsLimits::kHeaderBytes || header_bytes > bytes.size() - sizeof(header_bytes)) {
    return DataLoss(
        "{}: the header at offset 0 says it has {} bytes, more than the file ({} bytes) or the limit of {} "
        "allows: no safetensors file, or truncated; fetch it again",
        file_name, header_bytes, bytes.size(), SafetensorsLimits::kHeaderBytes);
  }
  const std::string_view header(reinterpret_cast<const char*>(bytes.data()) + sizeof(header_bytes),
                                header_bytes);
  if (header.empty() || header[0] != '{') {
    return DataLoss("{}: the header does not begin with an object; {}", file_name, kDamaged);
  }
  HeaderHandler handler;
  if (!Json::sax_parse(header, &handler)) {
    return DataLoss("{}: {} (offset 8 and on); {}", file_name, handler.error, kDamaged);
  }
  RETURN_IF_ERROR(RefuseDuplicateNames(handler.entries, file_name));
  return Placer(bytes, sizeof(header_bytes) + header_bytes, file_name, file_index)
      .Place(std::move(handler.entries));
}

}  // namespace firebrick
