#include "weights/gguf.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <numeric>

#include "weights/printable.h"
#include "weights/tensor_size.h"

namespace firebrick {
namespace {

static_assert(std::endian::native == std::endian::little, "readers copy little-endian integers as they lie");

constexpr std::string_view kDamaged = "the file is damaged; fetch or convert it again";

// Reads integers and strings front to back, never past the end. All failures are sticky: callers check ok()
// at the points where a value would be acted on.
class Cursor {
 public:
  explicit Cursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  uint64_t offset() const { return offset_; }
  uint64_t remaining() const { return bytes_.size() - offset_; }
  bool ok() const { return ok_; }

  template <typename T>
  T Read() {
    T value{};
    if (!Has(sizeof(T))) return value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  // A u64 length and that many bytes; fails where the length exceeds max_bytes or the file.
  std::string_view ReadString(uint64_t max_bytes) {
    const auto length = Read<uint64_t>();
    if (!ok_ || length > max_bytes || !Has(length)) {
      ok_ = false;
      return {};
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()) + offset_, length);
    offset_ += length;
    return text;
  }

 private:
  bool Has(uint64_t num_bytes) {
    ok_ = ok_ && num_bytes <= remaining();
    return ok_;
  }
  std::span<const std::byte> bytes_;
  uint64_t offset_ = 0;
  bool ok_ = true;
};

uint64_t ElementBytes(GgufValueType type) {
  switch (type) {
    case GgufValueType::kUint8:
    case GgufValueType::kInt8:
    case GgufValueType::kBool:
      return 1;
    case GgufValueType::kUint16:
    case GgufValueType::kInt16:
      return 2;
    case GgufValueType::kUint32:
    case GgufValueType::kInt32:
    case GgufValueType::kFloat32:
      return 4;
    case GgufValueType::kUint64:
    case GgufValueType::kInt64:
    case GgufValueType::kFloat64:
    case GgufValueType::kString:  // at least its length
      return 8;
    default:
      return 0;
  }
}

// Parses one file. A member function returns an error that names the file.
class Parser {
 public:
  Parser(std::span<const std::byte> bytes, std::string_view file_name, uint32_t file_index)
      : bytes_(bytes), cursor_(bytes), file_name_(file_name), file_index_(file_index) {}

  Result<GgufFile> Parse() {
    uint64_t num_tensors = 0;
    uint64_t num_keys = 0;
    RETURN_IF_ERROR(ReadPreamble(&num_tensors, &num_keys));
    for (uint64_t i = 0; i < num_keys; ++i) RETURN_IF_ERROR(ReadKeyValue(i));
    RETURN_IF_ERROR(RefuseDuplicateKeys());
    RETURN_IF_ERROR(ReadAlignment());
    for (uint64_t i = 0; i < num_tensors; ++i) RETURN_IF_ERROR(ReadTensorInfo(i));
    RETURN_IF_ERROR(PlaceTensors());
    return std::move(file_);
  }

 private:
  Status ReadPreamble(uint64_t* num_tensors, uint64_t* num_keys);
  Status ReadKeyValue(uint64_t index);
  Result<GgufValue> ReadScalar(GgufValueType type);
  Result<GgufValue> ReadArray();
  template <typename T, typename Wide>
  std::vector<Wide> ReadNumbers(uint64_t count);
  Result<GgufValue> ReadUint64s(uint64_t count);
  Result<GgufValue> ReadBools(uint64_t count);
  Result<GgufValue> ReadStrings(uint64_t count);
  Status RefuseDuplicateKeys() const;
  Status ReadAlignment();
  Status ReadTensorInfo(uint64_t index);
  Status CheckType(uint32_t type_id, const std::string& name, uint64_t at) const;
  Status PlaceTensors();
  Status PlaceTensor(RawTensor* tensor, uint64_t* expected) const;

  Status Truncated(std::string_view what, uint64_t at) const {
    return DataLoss("{}: the file ends, or a length lies, inside {} at offset {} (file size {}); {}",
                    file_name_, what, at, bytes_.size(), kDamaged);
  }

  std::span<const std::byte> bytes_;
  Cursor cursor_;
  std::string_view file_name_;
  uint32_t file_index_;
  uint64_t elements_left_ = GgufLimits::kArrayElements;
  GgufFile file_;
};

Status Parser::ReadPreamble(uint64_t* num_tensors, uint64_t* num_keys) {
  const auto magic = cursor_.Read<std::array<char, 4>>();
  if (!cursor_.ok() || std::string_view(magic.data(), magic.size()) != "GGUF") {
    return InvalidArgument(
        "{} does not begin with 'GGUF': it is no GGUF file; check the path or fetch it again", file_name_);
  }
  file_.version = cursor_.Read<uint32_t>();
  *num_tensors = cursor_.Read<uint64_t>();
  *num_keys = cursor_.Read<uint64_t>();
  if (!cursor_.ok()) return Truncated("the header", cursor_.offset());
  if (file_.version != 0 && (file_.version & 0xFFFF) == 0) {
    return Unimplemented(
        "{} is a big-endian GGUF file; only little-endian files can be read: fetch the "
        "little-endian file, or convert it with gguf_convert_endian.py",
        file_name_);
  }
  if (file_.version != 2 && file_.version != 3) {
    return Unimplemented(
        "{} is GGUF version {}; versions 2 and 3 can be read: convert it again with a current "
        "converter",
        file_name_, file_.version);
  }
  // A tensor info takes at least 8 + 1 + 4 + 8 + 4 + 8 bytes, a key-value at least 8 + 1 + 4 + 1.
  if (*num_tensors > GgufLimits::kTensors || *num_tensors > cursor_.remaining() / 33) {
    return DataLoss(
        "{}: the header at offset 8 says {} tensors, more than a file of {} bytes can hold (limit {}); {}",
        file_name_, *num_tensors, bytes_.size(), GgufLimits::kTensors, kDamaged);
  }
  if (*num_keys > GgufLimits::kKeys || *num_keys > cursor_.remaining() / 14) {
    return DataLoss(
        "{}: the header at offset 16 says {} metadata keys, more than a file of {} bytes can hold (limit "
        "{}); {}",
        file_name_, *num_keys, bytes_.size(), GgufLimits::kKeys, kDamaged);
  }
  return OkStatus();
}

Status Parser::ReadKeyValue(uint64_t index) {
  const uint64_t at = cursor_.offset();
  const std::string_view key = cursor_.ReadString(GgufLimits::kKeyBytes);
  const auto type = static_cast<GgufValueType>(cursor_.Read<uint32_t>());
  if (!cursor_.ok()) return Truncated(fmt::format("metadata key {}", index), at);
  if (!IsCleanName(key, GgufLimits::kKeyBytes)) {
    return DataLoss("{}: metadata key {} at offset {} is empty or holds control characters; {}", file_name_,
                    index, at, kDamaged);
  }
  Result<GgufValue> value = type == GgufValueType::kArray ? ReadArray() : ReadScalar(type);
  if (!value.ok()) {
    return value.status().WithContext(
        fmt::format("{}: metadata '{}' at offset {}", file_name_, Printable(key), at));
  }
  file_.metadata.emplace_back(std::string(key), std::move(value).value());
  return OkStatus();
}

Result<GgufValue> Parser::ReadScalar(GgufValueType type) {
  GgufValue value;
  switch (type) {
    case GgufValueType::kUint8:
      value = uint64_t{cursor_.Read<uint8_t>()};
      break;
    case GgufValueType::kInt8:
      value = int64_t{cursor_.Read<int8_t>()};
      break;
    case GgufValueType::kUint16:
      value = uint64_t{cursor_.Read<uint16_t>()};
      break;
    case GgufValueType::kInt16:
      value = int64_t{cursor_.Read<int16_t>()};
      break;
    case GgufValueType::kUint32:
      value = uint64_t{cursor_.Read<uint32_t>()};
      break;
    case GgufValueType::kInt32:
      value = int64_t{cursor_.Read<int32_t>()};
      break;
    case GgufValueType::kUint64:
      value = cursor_.Read<uint64_t>();
      break;
    case GgufValueType::kInt64:
      value = cursor_.Read<int64_t>();
      break;
    case GgufValueType::kFloat32:
      value = double{cursor_.Read<float>()};
      break;
    case GgufValueType::kFloat64:
      value = cursor_.Read<double>();
      break;
    case GgufValueType::kString:
      value = std::string(cursor_.ReadString(GgufLimits::kStringBytes));
      break;
    case GgufValueType::kBool: {
      const auto byte = cursor_.Read<uint8_t>();
      if (byte > 1) return DataLoss("a boolean holds {} instead of 0 or 1; {}", byte, kDamaged);
      value = byte == 1;
      break;
    }
    default:
      return DataLoss("value type {} does not exist; {}", static_cast<uint32_t>(type), kDamaged);
  }
  if (!cursor_.ok()) return DataLoss("the value reaches past the end of the file or its limit; {}", kDamaged);
  return value;
}

template <typename T, typename Wide>
std::vector<Wide> Parser::ReadNumbers(uint64_t count) {
  std::vector<Wide> values(count);
  for (Wide& value : values) value = static_cast<Wide>(cursor_.Read<T>());
  return values;
}

Result<GgufValue> Parser::ReadUint64s(uint64_t count) {
  std::vector<int64_t> values(count);
  for (int64_t& value : values) {
    const auto wide = cursor_.Read<uint64_t>();
    if (wide > INT64_MAX) return DataLoss("an array element is {}, above 2^63 - 1; {}", wide, kDamaged);
    value = static_cast<int64_t>(wide);
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadBools(uint64_t count) {
  std::vector<bool> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    const auto byte = cursor_.Read<uint8_t>();
    if (byte > 1) return DataLoss("a boolean holds {} instead of 0 or 1; {}", byte, kDamaged);
    values[i] = byte == 1;
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadStrings(uint64_t count) {
  std::vector<std::string> values(count);
  for (uint64_t i = 0; i < count; ++i) {
    values[i] = cursor_.ReadString(GgufLimits::kStringBytes);
    if (!cursor_.ok()) {
      return DataLoss("string {} of {} reaches past the end of the file or its limit; {}", i, count,
                      kDamaged);
    }
  }
  return GgufValue(std::move(values));
}

Result<GgufValue> Parser::ReadArray() {
  const auto type = static_cast<GgufValueType>(cursor_.Read<uint32_t>());
  const auto count = cursor_.Read<uint64_t>();
  if (!cursor_.ok()) return DataLoss("the array's header reaches past the end of the file; {}", kDamaged);
  if (type == GgufValueType::kArray) {
    return Unimplemented("an array of arrays; no known model needs one: write the key as a flat array");
  }
  const uint64_t element_bytes = ElementBytes(type);
  if (element_bytes == 0) {
    return DataLoss("array element type {} does not exist; {}", static_cast<uint32_t>(type), kDamaged);
  }
  if (count > cursor_.remaining() / element_bytes || count > elements_left_) {
    return DataLoss("the array says {} elements, more than the file holds or the limit of {} allows; {}",
                    count, GgufLimits::kArrayElements, kDamaged);
  }
  elements_left_ -= count;
  switch (type) {
    case GgufValueType::kUint8:
      return GgufValue(ReadNumbers<uint8_t, int64_t>(count));
    case GgufValueType::kInt8:
      return GgufValue(ReadNumbers<int8_t, int64_t>(count));
    case GgufValueType::kUint16:
      return GgufValue(ReadNumbers<uint16_t, int64_t>(count));
    case GgufValueType::kInt16:
      return GgufValue(ReadNumbers<int16_t, int64_t>(count));
    case GgufValueType::kUint32:
      return GgufValue(ReadNumbers<uint32_t, int64_t>(count));
    case GgufValueType::kInt32:
      return GgufValue(ReadNumbers<int32_t, int64_t>(count));
    case GgufValueType::kInt64:
      return GgufValue(ReadNumbers<int64_t, int64_t>(count));
    case GgufValueType::kUint64:
      return ReadUint64s(count);
    case GgufValueType::kFloat32:
      return GgufValue(ReadNumbers<float, double>(count));
    case GgufValueType::kFloat64:
      return GgufValue(ReadNumbers<double, double>(count));
    case GgufValueType::kBool:
      return ReadBools(count);
    default:
      return ReadStrings(count);
  }
}

Status Parser::RefuseDuplicateKeys() const {
  std::vector<std::string_view> keys;
  keys.reserve(file_.metadata.size());
  for (const auto& [key, value] : file_.metadata) keys.push_back(key);
  std::sort(keys.begin(), keys.end());
  const auto twice = std::adjacent_find(keys.begin(), keys.end());
  if (twice == keys.end()) return OkStatus();
  return DataLoss("{}: metadata '{}' is there twice; {}", file_name_, *twice, kDamaged);
}

Status Parser::ReadAlignment() {
  const auto found = std::find_if(file_.metadata.begin(), file_.metadata.end(),
                                  [](const auto& entry) { return entry.first == "general.alignment"; });
  if (found == file_.metadata.end()) return OkStatus();
  const auto* alignment = std::get_if<uint64_t>(&found->second);
  if (alignment == nullptr || !std::has_single_bit(*alignment) || *alignment < GgufLimits::kMinAlignment ||
      *alignment > GgufLimits::kMaxAlignment) {
    return DataLoss("{}: general.alignment must be a power of two from {} to {}; {}", file_name_,
                    GgufLimits::kMinAlignment, GgufLimits::kMaxAlignment, kDamaged);
  }
  file_.alignment = *alignment;
  return OkStatus();
}

Status Parser::CheckType(uint32_t type_id, const std::string& name, uint64_t at) const {
  if (FindWeightTypeByGgufId(type_id)) return OkStatus();
  const std::string_view type_name = GgufTypeName(type_id);
  if (type_name.empty()) {
    return DataLoss(
        "{}: tensor '{}' at offset {} has type id {}, which does not exist or was removed from GGUF; {}",
        file_name_, name, at, type_id, kDamaged);
  }
  return Unimplemented(
      "{}: tensor '{}' at offset {} has type {}, which cannot be read; use a file quantised to one "
      "of f32, f16, bf16, q8_0, q4_0, q4_1, q5_0, q5_1, q2_k to q6_k, iq4_nl, iq4_xs",
      file_name_, name, at, type_name);
}

Status Parser::ReadTensorInfo(uint64_t index) {
  const uint64_t at = cursor_.offset();
  RawTensor tensor;
  tensor.file_index = file_index_;
  // A longer name fails by IsCleanName, which says so; a length beyond a key's cannot be a name at all.
  const std::string_view name = cursor_.ReadString(GgufLimits::kKeyBytes);
  const auto num_dims = cursor_.Read<uint32_t>();
  if (!cursor_.ok()) return Truncated(fmt::format("tensor info {}", index), at);
  if (!IsCleanName(name, GgufLimits::kNameBytes)) {
    return DataLoss(
        "{}: tensor info {} at offset {}: the name '{}' is empty, longer than {} bytes or holds control "
        "characters; {}",
        file_name_, index, at, Printable(name), GgufLimits::kNameBytes, kDamaged);
  }
  tensor.name = name;
  if (num_dims < 1 || num_dims > 4) {
    return DataLoss("{}: tensor '{}' at offset {} has {} dimensions; 1 to 4 are possible; {}", file_name_,
                    name, at, num_dims, kDamaged);
  }
  for (uint32_t d = 0; d < num_dims; ++d) {
    const auto dim = cursor_.Read<uint64_t>();
    if (!cursor_.ok()) return Truncated(fmt::format("the info of tensor '{}'", name), at);
    if (dim == 0 || dim > INT64_MAX) {
      return DataLoss("{}: tensor '{}' at offset {}: dimension {} is {}; {}", file_name_, name, at, d, dim,
                      kDamaged);
    }
    tensor.shape.insert(tensor.shape.begin(), static_cast<int64_t>(dim));
  }
  const auto type_id = cursor_.Read<uint32_t>();
  tensor.file_offset = cursor_.Read<uint64_t>();  // relative until PlaceTensors
  if (!cursor_.ok()) return Truncated(fmt::format("the info of tensor '{}'", name), at);
  RETURN_IF_ERROR(CheckType(type_id, tensor.name, at));
  tensor.type = *FindWeightTypeByGgufId(type_id);
  if (tensor.cols() % InfoOf(tensor.type).block_elements != 0) {
    return DataLoss("{}: tensor '{}' at offset {}: its rows have {} columns, {} needs a multiple of {}; {}",
                    file_name_, name, at, tensor.cols(), InfoOf(tensor.type).name,
                    InfoOf(tensor.type).block_elements, kDamaged);
  }
  if (!CountBytes(tensor.type, tensor.shape)) {
    return DataLoss("{}: tensor '{}' at offset {}: the size of shape [{}] overflows; {}", file_name_, name,
                    at, fmt::join(tensor.shape, ", "), kDamaged);
  }
  file_.tensors.push_back(std::move(tensor));
  return OkStatus();
}

Status Parser::PlaceTensor(RawTensor* tensor, uint64_t* expected) const {
  const uint64_t relative = tensor->file_offset;
  const uint64_t num_bytes = *CountBytes(tensor->type, tensor->shape);
  if (relative % file_.alignment != 0) {
    return DataLoss("{}: tensor '{}' has offset {}, no multiple of the alignment {}; {}", file_name_,
                    tensor->name, relative, file_.alignment, kDamaged);
  }
  const std::optional<uint64_t> begin = CheckedAdd(file_.data_begin, relative);
  const std::optional<uint64_t> end = begin ? CheckedAdd(*begin, num_bytes) : std::nullopt;
  if (!end || *end > bytes_.size()) {
    return DataLoss(
        "{}: tensor '{}' needs {} bytes at offset {}, but the file ends at {}: it is truncated; fetch it "
        "again",
        file_name_, tensor->name, num_bytes, begin.value_or(relative), bytes_.size());
  }
  if (relative < *expected) {
    return DataLoss("{}: tensor '{}' at data offset {} overlaps the tensor before it, which ends at {}; {}",
                    file_name_, tensor->name, relative, *expected, kDamaged);
  }
  if (relative - *expected >= file_.alignment) {
    return DataLoss("{}: {} bytes before tensor '{}' at data offset {} belong to no tensor; {}", file_name_,
                    relative - *expected, tensor->name, relative, kDamaged);
  }
  *expected = relative + num_bytes;
  tensor->file_offset = *begin;
  tensor->data = bytes_.subspan(*begin, num_bytes);
  return OkStatus();
}

Status Parser::PlaceTensors() {
  file_.data_begin = (cursor_.offset() + file_.alignment - 1) / file_.alignment * file_.alignment;
  std::vector<size_t> by_offset(file_.tensors.size());
  std::iota(by_offset.begin(), by_offset.end(), size_t{0});
  std::stable_sort(by_offset.begin(), by_offset.end(), [this](size_t a, size_t b) {
    return file_.tensors[a].file_offset < file_.tensors[b].file_offset;
  });
  uint64_t expected = 0;
  for (const size_t i : by_offset) RETURN_IF_ERROR(PlaceTensor(&file_.tensors[i], &expected));
  return OkStatus();
}

}  // namespace

Result<GgufFile> ParseGguf(std::span<const std::byte> bytes, std::string_view file_name,
                           uint32_t file_index) {
  return Parser(bytes, file_name, file_index).Parse();
}

std::string_view GgufTypeName(uint32_t gguf_id) {
  if (const std::optional<WeightType> type = FindWeightTypeByGgufId(gguf_id)) return InfoOf(*type).name;
  static constexpr std::pair<uint32_t, std::string_view> kOthers[] = {
      {9, "q8_1"},   {15, "q8_k"},  {16, "iq2_xxs"}, {17, "iq2_xs"}, {18, "iq3_xxs"},
      {19, "iq1_s"}, {21, "iq3_s"}, {22, "iq2_s"},   {24, "i8"},     {25, "i16"},
      {26, "i32"},   {27, "i64"},   {28, "f64"},     {29, "iq1_m"},  {34, "tq1_0"},
      {35, "tq2_0"}, {39, "mxfp4"}, {40, "nvfp4"},   {41, "q1_0"},   {42, "q2_0"}};
  for (const auto& [id, name] : kOthers) {
    if (id == gguf_id) return name;
  }
  return {};
}

GgufSplitName ParseGgufSplitName(const std::string& path) {
  // PREFIX-00001-of-00005.gguf: 20 characters after the prefix.
  constexpr size_t kTail = 20;
  if (path.size() <= kTail || !path.ends_with(".gguf")) return {};
  const std::string_view tail = std::string_view(path).substr(path.size() - kTail);
  if (tail[0] != '-' || tail.substr(6, 4) != "-of-") return {};
  const auto number = [](std::string_view digits) {
    uint32_t value = 0;
    for (const char c : digits) {
      if (c < '0' || c > '9') return uint32_t{0};
      value = value * 10 + static_cast<uint32_t>(c - '0');
    }
    return value;
  };
  const uint32_t index = number(tail.substr(1, 5));
  const uint32_t count = number(tail.substr(10, 5));
  if (index == 0 || count == 0 || index > count) return {};
  return {path.substr(0, path.size() - kTail), index - 1, count};
}

std::string FormatGgufSplitName(const std::string& prefix, uint32_t index, uint32_t count) {
  return fmt::format("{}-{:05}-of-{:05}.gguf", prefix, index + 1, count);
}

}  // namespace firebrick
