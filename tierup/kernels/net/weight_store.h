// WeightStore: what the nets for all sizes of one program share: constants in the layouts that
// primitives want, each made once, and the memory that runs compute in.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "tierup/kernels/net/arena_memory.h"
#include "tierup/kernels/net/layouts.h"
#include "tierup/kernels/net/packed_weights.h"
#include "tierup/tensor/block_memory.h"

namespace tierup::kernels::net {

// Of a convolution or a product; Winograd's with the side of its tiles, and for few of them; of few
// rows with a matrix, with that as it lies; of one, with that in panels for a row.
enum class Algorithm : uint8_t {
  kOneDnn,
  kPanels,
  kPlanes,
  kChannels,
  kWinograd2,
  kWinograd4,
  kWinogradFew,
  kInPlace,
  kRowPanels
};

class WeightStore {
 public:
  using Fill = PackedBlock::Fill;
  WeightStore() = default;
  ~WeightStore();
  WeightStore(const WeightStore&) = delete;
  WeightStore& operator=(const WeightStore&) = delete;

  // The block named `id` in this layout; `fill` writes a missing one. One that has a name in the
  // process may come from another net.
  std::shared_ptr<char[]> get(int id, const memory::desc& layout, std::optional<PackedName> name,
                              const Fill& fill);
  // A layout that the constant was packed in before; nets for other sizes take it again where they
  // can, so that one copy serves all.
  std::optional<memory::desc> known_layout(int id) const;
  // How a convolution or product was done when it was measured, for nets that do not measure.
  void set_algorithm(int id, Algorithm algorithm);
  std::optional<Algorithm> algorithm(int id) const;
  // Of what several stores have, its share.
  size_t bytes() const;
  const std::shared_ptr<ArenaMemory>& arenas() const { return arenas_; }

 private:
  struct Entry {
    int id;
    memory::desc layout;
    std::shared_ptr<PackedBlock> block;
  };
  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<std::pair<int, Algorithm>> algorithms_;
  const std::shared_ptr<ArenaMemory> arenas_ = std::make_shared<ArenaMemory>();
};

// `bytes` of memory on a cache line's boundary.
std::shared_ptr<char[]> aligned_block(size_t bytes, PageKind kind = PageKind::kSmall);

}  // namespace tierup::kernels::net
