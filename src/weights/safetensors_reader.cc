#include "weights/safetensors_reader.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>

#include "base/file.h"
#include "base/json.h"
#include "weights/printable.h"
#include "weights/safetensors.h"

namespace firebrick {
namespace {

namespace fs = std::filesystem;

// Real ones take a few KiB. Json keeps objects as lists, so that a hostile one costs time by the square of
// its keys.
constexpr uint64_t kMaxConfigBytes = 256 << 10;
constexpr size_t kMaxShards = 4096;
constexpr char kSingleName[] = "model.safetensors";
constexpr char kIndexName[] = "model.safetensors.index.json";

bool IsPlainFileName(const std::string& name) {
  return IsCleanName(name, 255) && name.find_first_of("/\\") == std::string::npos && name[0] != '.';
}

bool Exists(const std::string& path) {
  std::error_code error;
  return fs::exists(path, error);
}

std::vector<std::string> ListSafetensors(const std::string& folder) {
  std::vector<std::string> paths;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() == ".safetensors") paths.push_back(it->path().string());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

// Walks {"metadata": anything, "weight_map": {"tensor": "shard"}} and keeps the map.
class IndexHandler : public nlohmann::json_sax<Json> {
 public:
  SafetensorsIndex tensors;
  std::string error;

  bool start_object(size_t /*elements*/) override { return Descend(true); }
  bool start_array(size_t /*elements*/) override { return Descend(false); }
  bool end_object() override { return Ascend(); }
  bool end_array() override { return Ascend(); }
  bool key(string_t& text) override {
    key_ = text;
    return true;
  }
  bool string(string_t& text) override {
    if (!in_map_) return Value();
    if (!IsCleanName(key_, SafetensorsLimits::kNameBytes) || !IsPlainFileName(text)) {
      return Fail(
          fmt::format("'{}' is not mapped to a plain file name in the model's folder", Printable(key_)));
    }
    if (tensors.size() >= SafetensorsLimits::kTensors) return Fail("more than 1048576 tensors");
    tensors.emplace_back(key_, text);
    return true;
  }
  bool null() override { return Value(); }
  bool boolean(bool /*value*/) override { return Value(); }
  bool number_integer(number_integer_t /*value*/) override { return Value(); }
  bool number_unsigned(number_unsigned_t /*value*/) override { return Value(); }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return Value(); }
  bool binary(binary_t& /*value*/) override { return Value(); }
  bool parse_error(size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*e*/) override {
    return Fail(fmt::format("no valid JSON at byte {}", position));
  }

 private:
  bool Fail(std::string what) {
    error = std::move(what);
    return false;
  }
  bool Value() {
    return (depth_ > 0 && !in_map_) || Fail("a value that is no file name in 'weight_map', or no object");
  }
  bool Descend(bool object) {
    if (in_map_ || (depth_ == 0 && !object))
      return Fail("a value that is no file name in 'weight_map', or no object");
    if (++depth_ > kMaxDepth) return Fail("nested too deeply");
    in_map_ = object && depth_ == 2 && key_ == "weight_map";
    return true;
  }
  bool Ascend() {
    --depth_;
    in_map_ = false;
    return true;
  }

  static constexpr int kMaxDepth = 16;
  int depth_ = 0;
  bool in_map_ = false;
  std::string key_;
};

// The object in `path`, or null where no such file is.
Result<Json> ReadJsonObject(const std::string& path) {
  const Result<std::string> text = ReadFile(path, kMaxConfigBytes);
  if (!text.ok()) {
    if (text.status().code() == StatusCode::kNotFound) return Json();
    return text.status();
  }
  Result<Json> json = ParseJson(*text);
  if (!json.ok()) return json.status().WithContext(path);
  if (!json->is_object())
    return InvalidArgument("{} does not hold a JSON object; fetch the model again", path);
  return json;
}

}  // namespace

Result<SafetensorsIndex> ParseSafetensorsIndex(std::string_view text, std::string_view file_name) {
  IndexHandler handler;
  if (!Json::sax_parse(text, &handler)) {
    return DataLoss("{}: {}; fetch the model again", file_name, handler.error);
  }
  if (handler.tensors.empty()) return DataLoss("{} has no 'weight_map' object; fetch it again", file_name);
  std::sort(handler.tensors.begin(), handler.tensors.end());
  const auto twice = std::adjacent_find(handler.tensors.begin(), handler.tensors.end(),
                                        [](const auto& x, const auto& y) { return x.first == y.first; });
  if (twice != handler.tensors.end()) {
    return DataLoss("{} names tensor '{}' twice; fetch the model again", file_name, twice->first);
  }
  return std::move(handler.tensors);
}

Status SafetensorsReader::AddFile(const std::string& path, Checkpoint* out) {
  ASSIGN_OR_RETURN(MappedFile mapped, MappedFile::Open(path));
  const auto file_index = static_cast<uint32_t>(out->files_.size());
  ASSIGN_OR_RETURN(SafetensorsFile file, ParseSafetensors(mapped.bytes(), path, file_index));
  std::move(file.tensors.begin(), file.tensors.end(), std::back_inserter(out->tensors_));
  std::move(file.opaque.begin(), file.opaque.end(), std::back_inserter(out->opaque_tensors_));
  out->files_.push_back(std::move(mapped));
  return OkStatus();
}

Status SafetensorsReader::AddShards(const std::string& index_path, Checkpoint* out) {
  ASSIGN_OR_RETURN(const std::string text, firebrick::ReadFile(index_path, SafetensorsLimits::kHeaderBytes));
  ASSIGN_OR_RETURN(const SafetensorsIndex mapped, ParseSafetensorsIndex(text, index_path));
  std::set<std::string> shards;
  for (const auto& [tensor, shard] : mapped) shards.insert(shard);
  if (shards.size() > kMaxShards) return DataLoss("{} names more than {} shards", index_path, kMaxShards);
  std::map<std::string_view, std::string_view> found;  // tensor to shard
  for (const std::string& shard : shards) {
    const Status added = AddFile(out->folder_ + "/" + shard, out);
    if (added.code() == StatusCode::kNotFound) {
      return NotFound("{} names the shard {}, which is not there; fetch the missing file", index_path, shard);
    }
    RETURN_IF_ERROR(added);
  }
  const auto note = [&](const std::string& name, uint32_t file_index) {
    const std::string_view file = out->files_[file_index].path();
    found.emplace(name, file.substr(out->folder_.size() + 1));
  };
  for (const RawTensor& tensor : out->tensors_) note(tensor.name, tensor.file_index);
  for (const OpaqueTensor& tensor : out->opaque_tensors_) note(tensor.name, tensor.file_index);
  for (const auto& [tensor, shard] : mapped) {
    const auto place = found.find(tensor);
    if (place == found.end() || place->second != shard) {
      return DataLoss("{} says that tensor '{}' lies in {}, but it does not; fetch the model again",
                      index_path, tensor, shard);
    }
  }
  if (found.size() != mapped.size()) {
    const auto surplus = std::find_if(found.begin(), found.end(), [&](const auto& entry) {
      const auto at = std::lower_bound(mapped.begin(), mapped.end(), entry.first,
                                       [](const auto& a, std::string_view name) { return a.first < name; });
      return at == mapped.end() || at->first != entry.first;
    });
    return DataLoss("{} does not name tensor '{}', which lies in {}; fetch the model again", index_path,
                    surplus->first, surplus->second);
  }
  return OkStatus();
}

Status SafetensorsReader::ReadJsonFiles(Checkpoint* out) {
  ASSIGN_OR_RETURN(Json generation, ReadJsonObject(out->folder_ + "/generation_config.json"));
  out->generation_config_ = std::make_shared<const Json>(std::move(generation));
  ASSIGN_OR_RETURN(Json root, ReadJsonObject(out->folder_ + "/config.json"));
  out->config_ = std::make_shared<const Json>(std::move(root));
  const auto text = out->config_->find("text_config");
  for (const Json* config : {out->config_.get(), text != out->config_->end() ? &*text : nullptr}) {
    if (config == nullptr || !config->is_object() || !config->contains("quantization_config")) continue;
    const Json& quantization = (*config)["quantization_config"];
    const bool named = quantization.is_object() && quantization.contains("quant_method") &&
                       quantization["quant_method"].is_string();
    return Unimplemented(
        "{}/config.json: the weights are quantised by '{}', which cannot be read; use the model's BF16 "
        "files, or a GGUF "
        "file of it",
        out->folder_, named ? Printable(quantization["quant_method"].get<std::string>(), 40) : "?");
  }
  return OkStatus();
}

Result<Checkpoint> SafetensorsReader::ReadFile(const std::string& path) {
  Checkpoint checkpoint;
  checkpoint.kind_ = CheckpointKind::kSafetensors;
  checkpoint.path_ = path;
  const fs::path parent = fs::path(path).parent_path();
  checkpoint.folder_ = parent.empty() ? std::string(1, '.') : parent.string();
  RETURN_IF_ERROR(ReadJsonFiles(&checkpoint));
  RETURN_IF_ERROR(AddFile(path, &checkpoint));
  RETURN_IF_ERROR(checkpoint.IndexNames());
  return checkpoint;
}

Result<Checkpoint> SafetensorsReader::ReadFolder(const std::string& folder) {
  Checkpoint checkpoint;
  checkpoint.kind_ = CheckpointKind::kSafetensors;
  checkpoint.path_ = folder;
  checkpoint.folder_ = folder;
  RETURN_IF_ERROR(ReadJsonFiles(&checkpoint));
  const std::string single = folder + "/" + kSingleName;
  const std::string index = folder + "/" + kIndexName;
  if (Exists(single)) {
    RETURN_IF_ERROR(AddFile(single, &checkpoint));
  } else if (Exists(index)) {
    RETURN_IF_ERROR(AddShards(index, &checkpoint));
  } else {
    const std::vector<std::string> files = ListSafetensors(folder);
    if (files.size() != 1) {
      return NotFound("{} holds {} .safetensors files but neither {} nor {}; fetch the missing file", folder,
                      files.size(), kSingleName, kIndexName);
    }
    RETURN_IF_ERROR(AddFile(files[0], &checkpoint));
  }
  RETURN_IF_ERROR(checkpoint.IndexNames());
  return checkpoint;
}

bool SafetensorsReader::IsModelFolder(const std::string& folder) {
  return Exists(folder + "/" + kIndexName) || !ListSafetensors(folder).empty();
}

}  // namespace firebrick
