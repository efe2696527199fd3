// KernelRun: runs of a compiled kernel over operands that move along one dimension anyhow.
//
// Machine code reads dense elements, or the same element again and again. Operands that are laid
// out otherwise are brought into that form in blocks on the stack. What is looked up has one entry
// of its table for the whole run.
#pragma once

#include <array>

#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/ops/regions/fusion_group.h"

namespace tierup::ops {

struct KernelRun {
  static constexpr size_t kMaxOperands = kernels::StridedLoop::kMaxOperands;

  const CompiledKernel* kernel = nullptr;
  size_t outputs = 0;
  size_t operands = 0;  // Outputs first.
  std::array<int64_t, kMaxOperands> widths{};
  // The operands that are looked up; the addresses of their indices stand behind the operands'.
  struct Looked {
    size_t operand = 0;
    const LookUp* how = nullptr;
    const char* first = nullptr;  // Its index's elements lie from here to there.
    const char* last = nullptr;
  };
  SmallVector<Looked, 4> looked;

  // One run. Operands move by their width, or not at all; none is looked up. Splats are made for
  // those that do not move.
  void run(char* const* pointers, const int64_t* strides, int64_t count) const;
  // Runs of any strides. False if an index is out of range.
  bool run_rows(const kernels::StridedLoop::Rows& rows) const;

  // Whether machine code reads the operand as it lies.
  bool is_dense(size_t operand, int64_t stride) const {
    return stride == widths[operand] || (stride == 0 && operand >= outputs);
  }

 private:
  using Pointers = std::array<char*, kMaxOperands>;

  // Machine code reads all operands as they lie, in each run.
  bool is_plain(const int64_t* strides) const;
  // What a run soon to come reads, whose address the processor cannot foresee: `index` is its.
  static void fetch_ahead(const Looked& looked, const char* index, const char* entries,
                          int64_t bytes);
  void run_blocks(const Pointers& pointers, const int64_t* strides, int64_t count) const;
};

}  // namespace tierup::ops
