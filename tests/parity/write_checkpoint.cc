// Writers of the golden checkpoints. The GGUF writer has its own table of names and its own permutation, so
// that a fault in the reader is not mirrored here.
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>

#include "base/json.h"
#include "golden.h"
#include "tensor/float_bits.h"
#include "weights/file_layout.h"
#include "weights/file_writer.h"
#include "weights/quantize.h"

namespace firebrick {
namespace {

WeightType TypeFor(const GoldenTensor& tensor, WeightType type) {
  if (tensor.shape.size() == 1) return WeightType::kF32;
  return tensor.shape.back() % InfoOf(type).block_elements == 0 ? type : WeightType::kF32;
}

std::vector<std::byte> Encode(const std::vector<float>& values, int64_t cols, WeightType type) {
  const WeightTypeInfo& info = InfoOf(type);
  std::vector<std::byte> bytes(values.size() / info.block_elements * info.block_bytes);
  QuantizeRows(type, values.data(), cols, static_cast<int64_t>(values.size()) / cols, bytes.data());
  return bytes;
}

struct NamedTensor {
  TensorSpec spec;
  std::vector<float> values;
};

void WriteFile(const std::string& path, const FileLayout& layout, const std::vector<NamedTensor>& tensors) {
  FileWriter writer = FileWriter::Create(path, layout).value();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::vector<std::byte> bytes =
        Encode(tensors[i].values, tensors[i].spec.cols(), tensors[i].spec.type);
    const Status status = writer.WriteAt(layout.offsets[i], bytes);
    CHECK_MSG(status.ok(), "{}", status.ToString());
  }
  const Status status = writer.Finish();
  CHECK_MSG(status.ok(), "{}", status.ToString());
}

std::vector<TensorSpec> SpecsOf(const std::vector<NamedTensor>& tensors) {
  std::vector<TensorSpec> specs;
  for (const NamedTensor& tensor : tensors) specs.push_back(tensor.spec);
  return specs;
}

// Rows of each head from half-split order to adjacent pairs: (0, d/2, 1, d/2 + 1, ...).
std::vector<float> ToAdjacentPairs(const std::vector<float>& values, int64_t head_dim, int64_t cols) {
  std::vector<float> out;
  const auto rows = static_cast<int64_t>(values.size()) / cols;
  for (int64_t head = 0; head < rows / head_dim; ++head) {
    for (int64_t pair = 0; pair < head_dim / 2; ++pair) {
      for (const int64_t row : {head * head_dim + pair, head * head_dim + head_dim / 2 + pair}) {
        out.insert(out.end(), values.begin() + row * cols, values.begin() + (row + 1) * cols);
      }
    }
  }
  return out;
}

std::string GgufName(const std::string& name, bool gemma) {
  static const std::map<std::string, std::string> kGlobal = {
      {"model.embed_tokens.weight", "token_embd.weight"},
      {"model.norm.weight", "output_norm.weight"},
      {"lm_head.weight", "output.weight"}};
  if (const auto it = kGlobal.find(name); it != kGlobal.end()) return it->second;
  static const std::map<std::string, std::string> kLayer = {{"input_layernorm", "attn_norm"},
                                                            {"self_attn.q_proj", "attn_q"},
                                                            {"self_attn.k_proj", "attn_k"},
                                                            {"self_attn.v_proj", "attn_v"},
                                                            {"self_attn.o_proj", "attn_output"},
                                                            {"self_attn.q_norm", "attn_q_norm"},
                                                            {"self_attn.k_norm", "attn_k_norm"},
                                                            {"mlp.gate_proj", "ffn_gate"},
                                                            {"mlp.up_proj", "ffn_up"},
                                                            {"mlp.down_proj", "ffn_down"},
                                                            {"pre_feedforward_layernorm", "ffn_norm"},
                                                            {"post_feedforward_layernorm", "post_ffw_norm"}};
  const size_t number = std::string("model.layers.").size();
  const size_t dot = name.find('.', number);
  const size_t last = name.rfind('.');
  const std::string leaf = name.substr(dot + 1, last - dot - 1);
  std::string mapped = leaf == "post_attention_layernorm" ? (gemma ? "post_attention_norm" : "ffn_norm") : "";
  if (mapped.empty()) mapped = kLayer.at(leaf);
  return "blk." + name.substr(number, dot - number) + "." + mapped + name.substr(last);
}

// Metadata as llama.cpp's converter writes it for the golden cases that it can express.
GgufMetadata MetadataOf(const Golden& golden, const std::string& arch, uint32_t head_dim) {
  const Json& config = golden.config;
  const auto integer = [&](const char* name) { return config.at(name).get<uint32_t>(); };
  GgufMetadata metadata = {
      {"general.architecture", arch},
      {arch + ".block_count", integer("num_hidden_layers")},
      {arch + ".context_length", integer("max_position_embeddings")},
      {arch + ".embedding_length", integer("hidden_size")},
      {arch + ".feed_forward_length", integer("intermediate_size")},
      {arch + ".attention.head_count", integer("num_attention_heads")},
      {arch + ".attention.head_count_kv", integer("num_key_value_heads")},
      {arch + ".attention.key_length", head_dim},
      {arch + ".attention.value_length", head_dim},
      {arch + ".rope.dimension_count", head_dim},
      {arch + ".attention.layer_norm_rms_epsilon", config.at("rms_norm_eps").get<float>()}};
  const Json parameters = config.value("rope_parameters", Json::object());
  const Json full = parameters.value("full_attention", parameters);
  metadata.emplace_back(arch + ".rope.freq_base",
                        full.value("rope_theta", config.value("rope_theta", 10000.0F)));
  const Json scaling = config.contains("rope_scaling") ? config.at("rope_scaling") : full;
  const std::string type = scaling.value("rope_type", scaling.value("type", std::string("default")));
  if (type == "linear" || type == "yarn") {
    metadata.emplace_back(arch + ".rope.scaling.type", type);
    metadata.emplace_back(arch + ".rope.scaling.factor", scaling.at("factor").get<float>());
  }
  if (type == "yarn") {
    metadata.emplace_back(arch + ".rope.scaling.original_context_length",
                          scaling.at("original_max_position_embeddings").get<uint32_t>());
  }
  if (arch == "gemma3" || golden.config.at("model_type") == "mistral") {
    metadata.emplace_back(arch + ".attention.sliding_window", integer("sliding_window"));
  }
  if (arch == "gemma3" && config.contains("layer_types")) {
    metadata.emplace_back(arch + ".attention.sliding_window_pattern", uint32_t{2});
  }
  return metadata;
}

// The divisors that converters store for llama3 scaling, by the formula of the models' authors.
std::vector<float> Llama3Divisors(const Json& scaling, double theta, int64_t head_dim) {
  std::vector<float> divisors;
  const double length = scaling.at("original_max_position_embeddings");
  const double low = scaling.at("low_freq_factor");
  const double high = scaling.at("high_freq_factor");
  const double factor = scaling.at("factor");
  for (int64_t i = 0; i < head_dim / 2; ++i) {
    const double wavelength = 2 * 3.14159265358979323846 *
                              std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(head_dim));
    double divisor = 1.0;
    if (wavelength > length / low) {
      divisor = factor;
    } else if (wavelength >= length / high) {
      const double smooth = (length / wavelength - low) / (high - low);
      divisor = 1.0 / ((1.0 - smooth) / factor + smooth);
    }
    divisors.push_back(static_cast<float>(divisor));
  }
  return divisors;
}

}  // namespace

std::string WriteSafetensors(const Golden& golden, WeightType type, const std::string& folder) {
  std::vector<NamedTensor> tensors;
  for (const GoldenTensor& tensor : golden.tensors) {
    const WeightType stored = tensor.shape.size() == 1 ? WeightType::kF32 : type;
    tensors.push_back({{tensor.name, stored, tensor.shape}, MakeWeight(tensor)});
  }
  std::string path = folder + "/" + golden.name + "-" + std::string(InfoOf(type).name);
  std::filesystem::create_directory(path);
  WriteFile(path + "/model.safetensors", LayOutSafetensors(SpecsOf(tensors)).value(), tensors);
  std::ofstream(path + "/config.json") << golden.config.dump();
  return path;
}

std::string WriteGguf(const Golden& golden, WeightType type, const std::string& folder) {
  const Json& config = golden.config;
  std::string arch = config.at("model_type");
  if (arch == "mistral") arch = "llama";
  if (arch == "gemma3_text") arch = "gemma3";
  const bool permuted = arch == "llama" || arch == "smollm3";
  const bool gemma = arch == "gemma3";
  const int64_t head_dim = config.contains("head_dim") ? config.at("head_dim").get<int64_t>()
                                                       : config.at("hidden_size").get<int64_t>() /
                                                             config.at("num_attention_heads").get<int64_t>();
  std::vector<NamedTensor> tensors;
  for (const GoldenTensor& tensor : golden.tensors) {
    std::vector<float> values = MakeWeight(tensor);
    const int64_t cols = tensor.shape.size() == 1 ? 1 : tensor.shape.back();
    const bool rotated =
        tensor.name.find("q_proj") != std::string::npos || tensor.name.find("k_proj") != std::string::npos;
    if (permuted && rotated) values = ToAdjacentPairs(values, head_dim, cols);
    if (gemma && tensor.name.ends_with("norm.weight")) {
      for (float& value : values) value += 1.0F;
    }
    tensors.push_back(
        {{GgufName(tensor.name, gemma), TypeFor(tensor, type), tensor.shape}, std::move(values)});
  }
  if (config.contains("rope_scaling") && config.at("rope_scaling").value("rope_type", "") == "llama3") {
    tensors.push_back({{"rope_freqs.weight", WeightType::kF32, {head_dim / 2}},
                       Llama3Divisors(config.at("rope_scaling"), config.at("rope_theta"), head_dim)});
  }
  std::string path = folder + "/" + golden.name + "-" + std::string(InfoOf(type).name) + ".gguf";
  const GgufMetadata metadata = MetadataOf(golden, arch, static_cast<uint32_t>(head_dim));
  WriteFile(path, LayOutGguf(metadata, SpecsOf(tensors)).value(), tensors);
  return path;
}

}  // namespace firebrick
