// The matrices of recurrent layers as products of few rows want them, kept between calls.
//
// A product of few rows that packs, or turns, its matrix each time spends more on that than on the
// product. A step that meets the same weights again and again (a layer, a cell in a loop) keeps
// them packed here; they are packed anew where a weight was written, or where another one comes.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "tierup/tensor/tensor.h"

namespace tierup::kernels {

class RecurrentWeights {
 public:
  // The panels (gemm.h) of the transposed matrix [gates, K], f32, dense. Any thread.
  std::shared_ptr<const float[]> panels_of(const Tensor& weight);
  // Of all panels. Any thread.
  size_t bytes() const;

 private:
  struct Entry {
    Tensor weight;  // Keeps the memory, so that its address names it.
    uint32_t version = 0;
    std::shared_ptr<const float[]> panels;
    size_t bytes = 0;
  };
  // Weights of so many layers, directions and kinds; the oldest one goes for another.
  static constexpr size_t kMostEntries = 64;

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  size_t oldest_ = 0;
};

}  // namespace tierup::kernels
