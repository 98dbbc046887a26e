#include "cli/logits.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <numeric>

#include "base/file.h"
#include "base/json.h"
#include "cli/commands.h"
#include "cli/model_flags.h"
#include "cli/model_path.h"
#include "cli/model_session.h"
#include "cli/progress.h"
#include "device/topology.h"
#include "model/direct_run.h"

namespace firebrick {
namespace {

constexpr uint64_t kMaxListBytes = 64 << 20;

// One JSON list of ids per line.
Result<std::vector<DirectList>> ReadLists(const std::string& path, bool wanted) {
  ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxListBytes));
  std::vector<DirectList> lists;
  size_t number = 1;
  for (size_t begin = 0; begin < text.size(); ++number) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line = std::string_view(text).substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    Result<Json> json = ParseJson(line, 2);
    if (!json.ok()) return json.status().WithContext(fmt::format("{}, line {}", path, number));
    DirectList list{{}, wanted};
    for (const Json& id : *json) {
      if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() > INT32_MAX) {
        return InvalidArgument(
            "{}, line {}: {} is not a token id; write one list of ids per line, like [1, 2, 3]", path, number,
            id.dump().substr(0, 60));
      }
      list.ids.push_back(id.get<int32_t>());
    }
    lists.push_back(std::move(list));
  }
  if (lists.empty()) return InvalidArgument("{} holds no id lists; write one per line, like [1, 2, 3]", path);
  return lists;
}

Result<std::unique_ptr<Model>> LoadWithBar(const Checkpoint& checkpoint, const Ops& ops, ThreadPool& pool,
                                           bool expand_to_f32) {
  uint64_t total = 0;
  for (const RawTensor& tensor : checkpoint.tensors()) total += tensor.data.size();
  ProgressBar bar(expand_to_f32 ? "loading as FP32" : "loading", total);
  const auto progress = [&](uint64_t done, uint64_t) { bar.Update(done); };
  Result<std::unique_ptr<Model>> model = Model::Load(checkpoint, {ops, pool, progress, expand_to_f32});
  if (model.ok()) bar.Finish();
  return model;
}

Status WriteNpy(const std::string& path, const std::vector<float>& rows, size_t num_rows, size_t vocab) {
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", num_rows, vocab);
  constexpr size_t kPreamble = 10;
  constexpr size_t kAlignment = 64;
  header.append((kAlignment - (kPreamble + header.size() + 1) % kAlignment) % kAlignment, ' ');
  header += '\n';
  std::string out = std::string("\x93NUMPY\x01\x00", 8);
  out += static_cast<char>(header.size() & 0xFF);
  out += static_cast<char>(header.size() >> 8);
  out += header;
  out.append(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(float));
  return WriteFileAtomically(path, out);
}

void PrintJson(const std::vector<int32_t>& ids, const std::vector<float>& rows, size_t vocab) {
  std::string out = fmt::format("{{\"ids\": [{}], \"logits\": [", fmt::join(ids, ", "));
  for (size_t row = 0; row < ids.size(); ++row) {
    const float* values = rows.data() + row * vocab;
    out += fmt::format("{}[{}]", row == 0 ? "" : ", ", fmt::join(values, values + vocab, ", "));
    std::fwrite(out.data(), 1, out.size(), stdout);
    out.clear();
  }
  std::puts("]}");
}

void PrintBest(const std::vector<int32_t>& ids, const std::vector<float>& rows, size_t vocab) {
  constexpr size_t kShown = 5;
  std::vector<size_t> order(vocab);
  for (size_t row = 0; row < ids.size(); ++row) {
    const float* values = rows.data() + row * vocab;
    std::iota(order.begin(), order.end(), size_t{0});
    const auto shown = order.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, vocab));
    std::partial_sort(order.begin(), shown, order.end(), [&](size_t a, size_t b) {
      return values[a] != values[b] ? values[a] > values[b] : a < b;
    });
    std::string line = fmt::format("{:5} {:8} ->", row, ids[row]);
    for (auto it = order.begin(); it != shown; ++it) line += fmt::format("  {}: {:.4f}", *it, values[*it]);
    std::puts(line.c_str());
  }
}

Status PrintLogits(const LogitsOptions& options, const Model& model, const Ops& ops, ThreadPool& pool,
                   const std::vector<DirectList>& lists, KvDType kv_dtype) {
  const auto vocab = static_cast<size_t>(model.config().vocab_size);
  std::vector<float> rows;
  rows.reserve(lists[0].ids.size() * vocab);
  const auto sink = [&](size_t, int32_t, std::span<const float> logits) {
    rows.insert(rows.end(), logits.begin(), logits.end());
  };
  RETURN_IF_ERROR(RunDirect(model, ops, pool, lists, {options.chunk, kv_dtype}, sink));
  if (!options.npy.empty()) RETURN_IF_ERROR(WriteNpy(options.npy, rows, lists[0].ids.size(), vocab));
  if (options.json) PrintJson(lists[0].ids, rows, vocab);
  if (!options.json && options.npy.empty()) PrintBest(lists[0].ids, rows, vocab);
  return OkStatus();
}

struct KlTotals {
  double divergence = 0;       // over all positions
  double divergence_late = 0;  // over the second half of each list, where the model has a context
  double worst = 0;
  int64_t positions = 0;
  int64_t positions_late = 0;
  int64_t same_best = 0;
};

// sum of p log(p / q) with p = softmax(reference), q = softmax(logits); in double.
double KlDivergence(std::span<const float> reference, std::span<const float> logits) {
  const auto log_sum = [](std::span<const float> x, float max) {
    double sum = 0;
    for (const float value : x) sum += std::exp(static_cast<double>(value) - max);
    return max + std::log(sum);
  };
  const double p_norm = log_sum(reference, *std::max_element(reference.begin(), reference.end()));
  const double q_norm = log_sum(logits, *std::max_element(logits.begin(), logits.end()));
  double divergence = 0;
  for (size_t i = 0; i < reference.size(); ++i) {
    const double log_p = reference[i] - p_norm;
    divergence += std::exp(log_p) * (log_p - (logits[i] - q_norm));
  }
  return divergence;
}

Status PrintKl(const LogitsOptions& options, const Checkpoint& checkpoint, const Model& model, const Ops& ops,
               ThreadPool& pool, const std::vector<DirectList>& lists, KvDType kv_dtype) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> exact, LoadWithBar(checkpoint, ops, pool, true));
  KlTotals totals;
  int64_t num_tokens = 0;
  for (const DirectList& list : lists) num_tokens += static_cast<int64_t>(list.ids.size());
  const auto vocab = static_cast<size_t>(model.config().vocab_size);
  ProgressBar bar("comparing tokens", static_cast<uint64_t>(num_tokens));
  for (const DirectList& list : lists) {
    std::vector<float> reference;
    reference.reserve(list.ids.size() * vocab);
    const auto keep = [&](size_t, int32_t, std::span<const float> logits) {
      reference.insert(reference.end(), logits.begin(), logits.end());
    };
    const std::span<const DirectList> one(&list, 1);
    RETURN_IF_ERROR(RunDirect(*exact, ops, pool, one, {options.chunk, KvDType::kF32}, keep));
    const auto compare = [&](size_t, int32_t position, std::span<const float> logits) {
      const auto row = std::span(reference).subspan(static_cast<size_t>(position) * vocab, vocab);
      const double divergence = KlDivergence(row, logits);
      const bool late = static_cast<size_t>(position) >= list.ids.size() / 2;
      totals.divergence += divergence;
      totals.divergence_late += late ? divergence : 0;
      totals.worst = std::max(totals.worst, divergence);
      totals.positions += 1;
      totals.positions_late += late ? 1 : 0;
      totals.same_best += std::max_element(row.begin(), row.end()) - row.begin() ==
                          std::max_element(logits.begin(), logits.end()) - logits.begin();
      bar.Update(static_cast<uint64_t>(totals.positions));
    };
    RETURN_IF_ERROR(RunDirect(model, ops, pool, one, {options.chunk, kv_dtype}, compare));
  }
  bar.Finish();
  Json out;
  out["tokens"] = totals.positions;
  out["mean_kl"] = totals.divergence / static_cast<double>(totals.positions);
  out["mean_kl_second_half"] = totals.divergence_late / static_cast<double>(totals.positions_late);
  out["max_kl"] = totals.worst;
  out["same_best_token"] = static_cast<double>(totals.same_best) / static_cast<double>(totals.positions);
  std::puts(out.dump().c_str());
  return OkStatus();
}

Result<std::vector<DirectList>> GatherLists(const LogitsOptions& options) {
  if (options.ids.empty() == options.ids_file.empty()) {
    return InvalidArgument("give token ids: --ids 1,2,3 or --ids-file FILE; `firebrick tokenize` makes them");
  }
  std::vector<DirectList> lists;
  if (!options.ids.empty()) {
    lists.push_back({options.ids, true});
  } else {
    ASSIGN_OR_RETURN(lists, ReadLists(options.ids_file, true));
    if (!options.kl && lists.size() > 1) {
      return InvalidArgument("{} holds {} lists; logits are printed for one (other lists go into --beside)",
                             options.ids_file, lists.size());
    }
  }
  if (!options.beside.empty()) {
    ASSIGN_OR_RETURN(const std::vector<DirectList> others, ReadLists(options.beside, false));
    lists.insert(lists.end(), others.begin(), others.end());
  }
  return lists;
}

}  // namespace

Status RunLogits(const LogitsOptions& options) {
  if (options.kl && (!options.beside.empty() || options.json || !options.npy.empty())) {
    return InvalidArgument("--kl prints one comparison; it goes with neither --beside nor --json nor --npy");
  }
  ASSIGN_OR_RETURN(const std::vector<DirectList> lists, GatherLists(options));
  ASSIGN_OR_RETURN(const std::string path, ResolveModelPath(options.model.model));
  ASSIGN_OR_RETURN(const Ops* ops, ResolveOps(options.model.isa.value));
  ASSIGN_OR_RETURN(const Checkpoint checkpoint, Checkpoint::Open(path));
  ThreadPool pool(MakeThreadPoolOptions(ReadTopology(), options.model.threads.value));
  ASSIGN_OR_RETURN(const std::unique_ptr<Model> model, LoadWithBar(checkpoint, *ops, pool, false));
  ASSIGN_OR_RETURN(const KvDType kv_dtype, ParseKvDType(options.model.kv_cache_dtype.value));
  if (options.kl) return PrintKl(options, checkpoint, *model, *ops, pool, lists, kv_dtype);
  return PrintLogits(options, *model, *ops, pool, lists, kv_dtype);
}

CommandAction DeclareLogits(FlagSet* flags) {
  const auto options = std::make_shared<LogitsOptions>();
  AddModelFlags(&options->model, flags);
  flags->IntegerList("--ids", "1,2,3", "Token ids, from `firebrick tokenize`", &options->ids);
  flags->Text("--ids-file", "FILE", "Instead: a JSON list of ids on each line", &options->ids_file);
  flags->Text("--beside", "FILE", "Id lists that run in the same batch; they change no bit",
              &options->beside);
  flags->Integer("--chunk", "N", "Tokens of a list in one pass; changes no bit", &options->chunk, 1, 1 << 20);
  flags->Switch("--json", "Print one object with ids and logits", &options->json);
  flags->Text("--npy", "FILE", "Write float32 [positions][vocabulary] for NumPy", &options->npy);
  flags->Switch("--kl", "Compare with FP32 arithmetic on the same weights instead", &options->kl);
  flags->Example("firebrick logits --ids 504,2365,282 --json");
  return [options] { return RunLogits(*options); };
}

}  // namespace firebrick
