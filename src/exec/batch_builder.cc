#include "exec/batch_builder.h"

namespace firebrick {

void BuildInputBatch(const StepPlan& plan, const SlotTable& slots, int32_t num_groups, InputBatch* batch) {
  batch->Clear();
  batch->num_groups = num_groups;
  for (const StepRow& row : plan.rows) {
    const SlotState& slot = slots.at(row.slot);
    CHECK(slot.open && row.num_tokens >= 1);
    BatchSequence sequence;
    sequence.token_begin = batch->num_tokens();
    sequence.num_tokens = row.num_tokens;
    sequence.first_position = row.first_position;
    sequence.table_begin = static_cast<int32_t>(batch->block_tables.size());
    for (int32_t i = 0; i < row.num_tokens; ++i) {
      const int32_t token =
          row.id_from_slot ? slot.tokens.back() : plan.token_ids[static_cast<size_t>(row.token_offset + i)];
      const bool is_last = i + 1 == row.num_tokens;
      if (row.wants_prompt_logprobs || (is_last && row.wants_token)) {
        batch->logit_tokens.push_back(batch->num_tokens());
      }
      batch->token_ids.push_back(token);
      batch->positions.push_back(row.first_position + i);
    }
    for (int32_t group = 0; group < num_groups; ++group) {
      const auto& table = slot.tables[static_cast<size_t>(group)];
      const int32_t last_idx = (row.first_position + row.num_tokens - 1) / kBlockTokens;
      CHECK_MSG(static_cast<size_t>(last_idx) < table.size(),
                "position {} of slot {} has no block in group {}", row.first_position + row.num_tokens - 1,
                row.slot.value(), group);
      batch->block_tables.push_back(table.data());
    }
    batch->sequences.push_back(sequence);
  }
}

}  // namespace firebrick
