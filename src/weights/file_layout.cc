#include "weights/file_layout.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "base/json.h"
#include "weights/gguf.h"
#include "weights/printable.h"
#include "weights/safetensors.h"
#include "weights/tensor_size.h"

namespace firebrick {
namespace {

constexpr uint64_t kAlignment = 32;

uint64_t RoundUp(uint64_t value, uint64_t multiple) { return (value + multiple - 1) / multiple * multiple; }

template <typename T>
void Append(T value, std::string* out) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, &value, sizeof(T));
  out->append(bytes, sizeof(T));
}

void AppendGgufString(std::string_view text, std::string* out) {
  Append(uint64_t{text.size()}, out);
  *out += text;
}

void AppendType(GgufValueType type, std::string* out) { Append(static_cast<uint32_t>(type), out); }

// Appends the type id and the value.
struct ValueAppender {
  std::string* out;

  void operator()(bool value) const {
    AppendType(GgufValueType::kBool, out);
    Append(static_cast<uint8_t>(value), out);
  }
  void operator()(uint32_t value) const {
    AppendType(GgufValueType::kUint32, out);
    Append(value, out);
  }
  void operator()(uint64_t value) const {
    AppendType(GgufValueType::kUint64, out);
    Append(value, out);
  }
  void operator()(float value) const {
    AppendType(GgufValueType::kFloat32, out);
    Append(value, out);
  }
  void operator()(const std::string& value) const {
    AppendType(GgufValueType::kString, out);
    AppendGgufString(value, out);
  }
  void operator()(const std::vector<int32_t>& values) const {
    BeginArray(GgufValueType::kInt32, values.size());
    for (const int32_t value : values) Append(value, out);
  }
  void operator()(const std::vector<float>& values) const {
    BeginArray(GgufValueType::kFloat32, values.size());
    for (const float value : values) Append(value, out);
  }
  void operator()(const std::vector<std::string>& values) const {
    BeginArray(GgufValueType::kString, values.size());
    for (const std::string& value : values) AppendGgufString(value, out);
  }

  void BeginArray(GgufValueType type, size_t count) const {
    AppendType(GgufValueType::kArray, out);
    AppendType(type, out);
    Append(uint64_t{count}, out);
  }
};

// Refuses what our own readers would refuse.
Status CheckSpecs(std::span<const TensorSpec> tensors, uint64_t max_name_bytes, size_t max_dims) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const TensorSpec& tensor : tensors) {
    const std::string_view type = InfoOf(tensor.type).name;
    if (!IsCleanName(tensor.name, max_name_bytes)) {
      return InvalidArgument(
          "'{}' cannot be a tensor's name: 1 to {} bytes of UTF-8 without control characters",
          Printable(tensor.name), max_name_bytes);
    }
    const bool has_zero = std::find(tensor.shape.begin(), tensor.shape.end(), 0) != tensor.shape.end();
    if (tensor.shape.empty() || tensor.shape.size() > max_dims || has_zero ||
        !CountBytes(tensor.type, tensor.shape)) {
      return InvalidArgument(
          "tensor '{}' of shape [{}] cannot be written as {}: 1 to {} dimensions above 0, columns a "
          "multiple of {}",
          tensor.name, fmt::join(tensor.shape, ", "), type, max_dims, InfoOf(tensor.type).block_elements);
    }
    names.push_back(tensor.name);
  }
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice != names.end()) return InvalidArgument("tensor '{}' is listed twice", *twice);
  return OkStatus();
}

}  // namespace

Result<FileLayout> LayOutGguf(const GgufMetadata& metadata, std::span<const TensorSpec> tensors) {
  RETURN_IF_ERROR(CheckSpecs(tensors, GgufLimits::kNameBytes, 4));
  FileLayout layout;
  std::string& header = layout.header;
  header = "GGUF";
  Append(uint32_t{3}, &header);
  Append(uint64_t{tensors.size()}, &header);
  Append(uint64_t{metadata.size()}, &header);
  for (const auto& [key, value] : metadata) {
    AppendGgufString(key, &header);
    std::visit(ValueAppender{&header}, value);
  }
  uint64_t relative = 0;
  for (const TensorSpec& tensor : tensors) {
    AppendGgufString(tensor.name, &header);
    Append(static_cast<uint32_t>(tensor.shape.size()), &header);
    for (size_t d = tensor.shape.size(); d-- > 0;) Append(static_cast<uint64_t>(tensor.shape[d]), &header);
    Append(InfoOf(tensor.type).gguf_id, &header);
    Append(relative, &header);
    layout.offsets.push_back(relative);
    relative = RoundUp(relative + *CountBytes(tensor.type, tensor.shape), kAlignment);
  }
  header.resize(RoundUp(header.size(), kAlignment), '\0');
  for (uint64_t& offset : layout.offsets) offset += header.size();
  layout.file_bytes = header.size() + relative;
  return layout;
}

Result<FileLayout> LayOutSafetensors(std::span<const TensorSpec> tensors) {
  RETURN_IF_ERROR(CheckSpecs(tensors, SafetensorsLimits::kNameBytes, SafetensorsLimits::kDimensions));
  FileLayout layout;
  std::string json = R"({"__metadata__":{"format":"pt"})";
  uint64_t relative = 0;
  for (const TensorSpec& tensor : tensors) {
    const std::string_view dtype = tensor.type == WeightType::kF32    ? "F32"
                                   : tensor.type == WeightType::kF16  ? "F16"
                                   : tensor.type == WeightType::kBF16 ? "BF16"
                                                                      : "";
    if (dtype.empty()) {
      return InvalidArgument(
          "safetensors cannot hold {} weights (tensor '{}'); write a GGUF file, or use f32, f16 or "
          "bf16",
          InfoOf(tensor.type).name, tensor.name);
    }
    const uint64_t end = relative + *CountBytes(tensor.type, tensor.shape);
    json += ',';
    AppendJsonString(tensor.name, &json);
    json += fmt::format(R"(:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", dtype,
                        fmt::join(tensor.shape, ","), relative, end);
    layout.offsets.push_back(relative);
    relative = end;
  }
  json += '}';
  json.resize(RoundUp(json.size(), 8), ' ');
  Append(uint64_t{json.size()}, &layout.header);
  layout.header += json;
  for (uint64_t& offset : layout.offsets) offset += layout.header.size();
  layout.file_bytes = layout.header.size() + relative;
  return layout;
}

}  // namespace firebrick
