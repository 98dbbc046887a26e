// Activation: the input of linear layers, brought once into the form that their weights ask for and then read
// by all of them (q, k and v share one). Rows are padded with zeros to a multiple of 32 columns.
//
//   exact    [rows][padded_cols]        F32 as given                          (F32 weights)
//   rounded  [rows][padded_cols]        rounded to BF16, held as F32           (all other weights)
//   bf16     [rows / 16][padded_cols / 32][16][32]   the same as BF16 bits: A operands  (levels with tile
//   units) sums32, sums16 [rows][padded_cols / 32 or 16]   sum of `rounded` per group, in pair-chain order
//   (mins)
//
// Thread: Reshape by one thread; then different rows may be filled by different threads
// (Ops::prepare_activation), then it is read by all.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/status.h"
#include "device/aligned_buffer.h"

namespace firebrick {

inline constexpr int64_t kLinearBlock = 32;                    // K is cut in blocks of this many columns
inline constexpr int64_t kActivationTile = 16 * kLinearBlock;  // elements of an A operand: 16 rows of a block
inline int64_t PadToBlock(int64_t cols) { return (cols + kLinearBlock - 1) / kLinearBlock * kLinearBlock; }

// Which parts of an Activation a packed weight reads; join the needs of several with |.
struct ActivationNeeds {
  bool exact = false;
  bool rounded = false;
  bool bf16 = false;
  bool sums32 = false;
  bool sums16 = false;
  friend ActivationNeeds operator|(ActivationNeeds a, ActivationNeeds b) {
    return {a.exact || b.exact, a.rounded || b.rounded, a.bf16 || b.bf16, a.sums32 || b.sums32,
            a.sums16 || b.sums16};
  }
};

class Activation {
 public:
  // Makes room for num_rows x num_cols; keeps the memory where it is large enough, so a steady state does not
  // allocate. The contents are undefined until the rows are prepared.
  Status Reshape(int64_t num_rows, int64_t num_cols, ActivationNeeds needs);

  int64_t num_rows() const { return num_rows_; }
  int64_t num_cols() const { return num_cols_; }
  int64_t padded_cols() const { return padded_cols_; }
  ActivationNeeds needs() const { return needs_; }

  float* exact(int64_t row) { return exact_ + row * padded_cols_; }
  const float* exact(int64_t row) const { return exact_ + row * padded_cols_; }
  float* rounded(int64_t row) { return rounded_ + row * padded_cols_; }
  const float* rounded(int64_t row) const { return rounded_ + row * padded_cols_; }
  // The 32 columns of `block` of a row; the next row of the same 16 is 32 elements on, the next block
  // kActivationTile.
  uint16_t* bf16(int64_t row, int64_t block) { return bf16_ + Bf16Offset(row, block); }
  const uint16_t* bf16(int64_t row, int64_t block) const { return bf16_ + Bf16Offset(row, block); }
  // Group sums of a row; group_size 16 or 32.
  float* sums(int64_t row, int64_t group_size) {
    return (group_size == 32 ? sums32_ : sums16_) + row * (padded_cols_ / group_size);
  }
  const float* sums(int64_t row, int64_t group_size) const {
    return (group_size == 32 ? sums32_ : sums16_) + row * (padded_cols_ / group_size);
  }

 private:
  int64_t Bf16Offset(int64_t row, int64_t block) const {
    return row / 16 * 16 * padded_cols_ + block * kActivationTile + row % 16 * kLinearBlock;
  }
  int64_t num_rows_ = 0;
  int64_t num_cols_ = 0;
  int64_t padded_cols_ = 0;
  ActivationNeeds needs_;
  AlignedBuffer buffer_;
  float* exact_ = nullptr;
  float* rounded_ = nullptr;
  uint16_t* bf16_ = nullptr;
  float* sums32_ = nullptr;
  float* sums16_ = nullptr;
};

}  // namespace firebrick
