#include "model/direct_run.h"

#include <algorithm>

#include "device/aligned_buffer.h"

namespace firebrick {
namespace {

int32_t NumBlocks(const DirectList& list) {
  return (static_cast<int32_t>(list.ids.size()) + kBlockTokens - 1) / kBlockTokens;
}

Status CheckLists(std::span<const DirectList> lists, int32_t vocab_size) {
  for (const DirectList& list : lists) {
    if (list.ids.empty()) return InvalidArgument("an id list is empty; give at least one token id");
    for (const int32_t id : list.ids) {
      if (id < 0 || id >= vocab_size) {
        return InvalidArgument("token id {} is outside the vocabulary of {} tokens", id, vocab_size);
      }
    }
  }
  return OkStatus();
}

// tables[list x num_groups + group][block_idx]; blocks of all lists in turn, so no list's pages are
// neighbours.
std::vector<std::vector<BlockId>> DealBlocks(std::span<const DirectList> lists, size_t num_groups) {
  std::vector<std::vector<BlockId>> tables(lists.size() * num_groups);
  int32_t longest = 0;
  for (const DirectList& list : lists) longest = std::max(longest, NumBlocks(list));
  uint32_t next = 0;
  for (int32_t block_idx = 0; block_idx < longest; ++block_idx) {
    for (size_t list = 0; list < lists.size(); ++list) {
      if (block_idx >= NumBlocks(lists[list])) continue;
      for (size_t group = 0; group < num_groups; ++group) {
        tables[list * num_groups + group].push_back(BlockId(next++));
      }
    }
  }
  return tables;
}

// The tokens that follow the first `done` of each list, up to `chunk` of each.
void FillBatch(std::span<const DirectList> lists, const std::vector<std::vector<BlockId>>& tables,
               int32_t done, int32_t chunk, InputBatch& batch) {
  batch.Clear();
  const size_t num_groups = tables.size() / lists.size();
  batch.num_groups = static_cast<int32_t>(num_groups);
  for (size_t list = 0; list < lists.size(); ++list) {
    const auto left = static_cast<int32_t>(lists[list].ids.size()) - done;
    if (left <= 0) continue;
    const int32_t count = std::min(chunk, left);
    batch.sequences.push_back(
        {batch.num_tokens(), count, done, static_cast<int32_t>(batch.block_tables.size())});
    for (size_t group = 0; group < num_groups; ++group) {
      batch.block_tables.push_back(tables[list * num_groups + group].data());
    }
    for (int32_t i = 0; i < count; ++i) {
      if (lists[list].wanted) batch.logit_tokens.push_back(batch.num_tokens());
      batch.token_ids.push_back(lists[list].ids[static_cast<size_t>(done + i)]);
      batch.positions.push_back(done + i);
    }
  }
}

}  // namespace

Status RunDirect(const Model& model, const Ops& ops, ThreadPool& pool, std::span<const DirectList> lists,
                 const DirectRunOptions& options, const LogitSink& sink) {
  if (lists.empty()) return OkStatus();
  CHECK(options.chunk >= 1);
  RETURN_IF_ERROR(CheckLists(lists, model.config().vocab_size));
  const KvGeometry geometry = model.MakeKvGeometry(options.kv_dtype);
  const std::vector<std::vector<BlockId>> tables = DealBlocks(lists, geometry.groups.size());
  size_t num_pages = 0;
  for (const auto& table : tables) num_pages += table.size();
  ASSIGN_OR_RETURN(AlignedBuffer arena,
                   AlignedBuffer::Allocate(MemoryAccount::kKvCache, num_pages * geometry.page_bytes()));
  const auto vocab = static_cast<size_t>(model.config().vocab_size);
  int32_t longest = 0;
  for (const DirectList& list : lists) longest = std::max(longest, static_cast<int32_t>(list.ids.size()));
  ForwardScratch scratch;
  InputBatch batch;
  std::vector<float> logits;
  // Lists start together, so list l is at position `done` or at its end.
  for (int32_t done = 0; done < longest; done += std::min(options.chunk, longest - done)) {
    FillBatch(lists, tables, done, options.chunk, batch);
    logits.resize(batch.logit_tokens.size() * vocab);
    const ForwardContext context{ops, pool, batch, geometry, arena.data(), scratch};
    RETURN_IF_ERROR(model.Forward(context));
    RETURN_IF_ERROR(
        model.Logits(context, {0, static_cast<int64_t>(batch.logit_tokens.size())}, logits.data()));
    size_t row = 0;
    for (size_t list = 0; list < lists.size(); ++list) {
      if (!lists[list].wanted) continue;
      const auto end = std::min(static_cast<int32_t>(lists[list].ids.size()), done + options.chunk);
      for (int32_t position = done; position < end; ++position) {
        sink(list, position, std::span(logits).subspan(row++ * vocab, vocab));
      }
    }
  }
  return OkStatus();
}

}  // namespace firebrick
