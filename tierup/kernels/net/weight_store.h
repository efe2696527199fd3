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

  using Memory = std::shared_ptr<char[]>;
  // The block named `id` in this layout; `fill` writes a missing one.
  Memory get(int id, const memory::desc& layout, const Fill& fill);
  // The same, but a missing one is written by fill_pending(), and may be another net's if it has a
  // name.
  Memory get_later(int id, const memory::desc& layout, std::optional<PackedName> name, Fill fill);
  // Writes what is pending, on all threads that the caller may use: pages of weights are made by
  // the thread that packs them. One net at a time may have blocks pending.
  void fill_pending();
  // Of a net that comes to nothing.
  void drop_pending() noexcept;
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
  struct Pending {
    Entry entry;
    Fill fill;  // None where the block is another one's that is pending.
  };
  static Memory memory_of(const Entry& entry);
  // The caller holds the mutex.
  const Entry* find(int id, const memory::desc& layout) const;
  const Entry& add(Entry entry);

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;
  std::vector<Pending> pending_;
  std::vector<std::pair<int, Algorithm>> algorithms_;
  const std::shared_ptr<ArenaMemory> arenas_ = std::make_shared<ArenaMemory>();
};

// `bytes` of memory on a cache line's boundary; as reserve_block() gives it.
std::shared_ptr<char[]> aligned_block(size_t bytes, PageKind kind = PageKind::kSmall);
std::shared_ptr<char[]> reserved_block(size_t bytes, PageKind kind);

}  // namespace tierup::kernels::net
