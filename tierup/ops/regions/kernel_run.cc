// See kernel_run.h.
#include "tierup/ops/regions/kernel_run.h"

#include <algorithm>
#include <cstring>

#include "tierup/kernels/memory/turned_rows.h"
#include "tierup/ops/regions/strided_copy.h"

namespace tierup::ops {
namespace {

using kernels::kSplatBytes;

constexpr int64_t kBlock = 512;  // Elements of a block on the stack.

// As copy_strided, for runs of a block. Not within it: elsewhere it copies a few elements at a
// time, for which a question more takes longer (spectra of a Fourier transform: 4 %).
void gather_strided(char* to, const char* from, int64_t stride, int64_t width, int64_t count) {
  if (width == 4 && stride % 4 == 0) return kernels::take_strided(to, from, stride / 4, count);
  copy_strided(to, width, from, stride, width, count);
}

// Of one size for each width, so that the compiler writes whole vectors: rows may be short, and
// each has its own splats. (Doubling what is there waits for the store before, ten times as long.)
void fill_splat(char* splat, const char* value, int64_t width) {
  const auto fill = [&](auto word) {
    std::memcpy(&word, value, sizeof(word));
    for (size_t at = 0; at < kSplatBytes; at += sizeof(word)) {
      std::memcpy(splat + at, &word, sizeof(word));
    }
  };
  switch (width) {
    case 1: return fill(uint8_t{});
    case 2: return fill(uint16_t{});
    case 4: return fill(uint32_t{});
    default: return fill(uint64_t{});
  }
}

}  // namespace

void KernelRun::run(char* const* pointers, const int64_t* strides, int64_t count) const {
  alignas(64) char splats[kMaxOperands][kSplatBytes];
  Pointers data;
  for (size_t k = 0; k < operands; ++k) {
    data[k] = pointers[k];
    if (k < outputs || strides[k] != 0 || kernel->inputs[k - outputs].uniform) continue;
    fill_splat(splats[k], pointers[k], widths[k]);
    data[k] = splats[k];
  }
  kernel->function(data.data(), strides, nullptr, count);
}

bool KernelRun::is_plain(const int64_t* strides) const {
  for (size_t k = 0; k < operands; ++k) {
    if (strides[k] == widths[k]) continue;
    if (strides[k] != 0 || k < outputs || !kernel->inputs[k - outputs].uniform) return false;
  }
  return true;
}

void KernelRun::fetch_ahead(const Looked& looked, const char* index, const char* entries,
                            int64_t bytes) {
  constexpr int64_t kLine = 64;           // Bytes.
  constexpr int64_t kMostBytes = 1 << 9;  // Of more the processor brings the rest by itself.
  if (index < looked.first || index > looked.last) return;
  const int64_t offset = looked.how->offset_at(index);
  if (offset < 0) return;
  for (int64_t at = 0; at < std::min(bytes, kMostBytes); at += kLine)
    __builtin_prefetch(entries + offset + at);
}

// Rows of a table are short: what a run takes beside its elements is most of its time. Addresses
// are computed anew for each, since what was just written in parts is read late as a whole.
bool KernelRun::run_rows(const kernels::StridedLoop::Rows& rows) const {
  constexpr int64_t kAhead = 4;  // Runs.
  const bool plain = is_plain(rows.strides);
  bool dense = true;
  for (size_t k = 0; k < operands; ++k) dense = dense && is_dense(k, rows.strides[k]);
  const size_t all = operands + looked.size();
  for (int64_t r = 0; r < rows.runs; ++r) {
    Pointers at;
    for (size_t k = 0; k < all; ++k) at[k] = rows.pointers[k] + r * rows.run_strides[k];
    for (size_t i = 0; i < looked.size(); ++i) {
      const size_t k = looked[i].operand;
      const char* const index = at[operands + i];
      const int64_t offset = looked[i].how->offset_at(index);
      if (offset < 0) return false;
      const int64_t ahead = kAhead * rows.run_strides[operands + i];
      if (ahead != 0)
        fetch_ahead(looked[i], index + ahead, at[k] + kAhead * rows.run_strides[k],
                    rows.count * rows.strides[k]);
      at[k] += offset;
    }
    if (plain) {
      kernel->function(at.data(), rows.strides, nullptr, rows.count);
    } else if (dense) {
      run(at.data(), rows.strides, rows.count);
    } else {
      run_blocks(at, rows.strides, rows.count);
    }
  }
  return true;
}

void KernelRun::run_blocks(const Pointers& pointers, const int64_t* strides, int64_t count) const {
  alignas(64) char blocks[kMaxOperands][kBlock * 8];
  Pointers data;
  std::array<int64_t, kMaxOperands> steps;
  for (int64_t start = 0; start < count; start += kBlock) {
    const int64_t n = std::min(kBlock, count - start);
    for (size_t k = 0; k < operands; ++k) {
      char* const at = pointers[k] + start * strides[k];
      const bool packed = !is_dense(k, strides[k]);
      data[k] = packed ? blocks[k] : at;
      steps[k] = packed ? widths[k] : strides[k];
      if (!packed || k < outputs) continue;
      gather_strided(blocks[k], at, strides[k], widths[k], n);
    }
    run(data.data(), steps.data(), n);
    for (size_t k = 0; k < outputs; ++k) {
      if (is_dense(k, strides[k])) continue;
      copy_strided(pointers[k] + start * strides[k], strides[k], blocks[k], widths[k], widths[k],
                   n);
    }
  }
}

}  // namespace tierup::ops
