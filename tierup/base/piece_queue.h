// PieceQueue: work in pieces that threads take when they get to them.
//
// Each worker has a share of the pieces and takes them in order, so that what it wrote in one step
// lies in its own cache in the next one; whoever is done takes from the end of another's share.
// Cores are not equally fast from moment to moment (other work, other tenants of the core), and a
// barrier waits for the slowest.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "tierup/base/parallel.h"
#include "tierup/base/workers.h"

namespace tierup {

class PieceQueue {
 public:
  static constexpr int kMostWorkers = 64;

  // At most kMostWorkers workers.
  PieceQueue(int64_t pieces, int workers);
  // The next piece for this worker; negative where none is left.
  int64_t take(int worker);

 private:
  struct alignas(64) Share {
    std::atomic<uint64_t> range{0};  // First piece, and past the last one.
  };
  static int64_t take_front(Share& share);
  static int64_t take_back(Share& share);

  int workers_;
  std::array<Share, kMostWorkers> shares_;
};

// Workers that parallel_pieces gives numbers to, where so many threads may be used.
inline int64_t piece_workers(int64_t pieces, int threads) {
  return std::min<int64_t>({pieces, threads, PieceQueue::kMostWorkers});
}

// Calls body(piece, worker) for each piece, each worker number by one thread at a time. Which
// worker has which piece differs from call to call.
template <typename Body>
void parallel_pieces(int64_t pieces, int64_t workers, const Body& body) {
  if (workers <= 1) {
    for (int64_t i = 0; i < pieces; ++i) body(i, int64_t{0});
    return;
  }
  const SliceAlone slice;
  int64_t done = 0;
  for (; done < pieces && slice.goes_on(); ++done) body(done, int64_t{0});
  if (done == pieces) return;
  if (slice.is_alone()) start_workers();
  PieceQueue queue(pieces - done, static_cast<int>(workers));
  auto work = [&](int64_t begin, int64_t end) {
    for (int64_t worker = begin; worker < end; ++worker) {
      for (int64_t i = queue.take(static_cast<int>(worker)); i >= 0;
           i = queue.take(static_cast<int>(worker)))
        body(done + i, worker);
    }
  };
  slice.is_alone() ? run_on_team(workers, work) : parallel_for(0, workers, 1, work);
}

// The same for pieces of milliseconds each. A thread without a team would begin the loop alone
// where others want the cores (parallel.h), and the one share that it then has is all of it: so its
// team is started first.
template <typename Body>
void parallel_long_pieces(int64_t pieces, int64_t workers, const Body& body) {
  if (workers > 1) start_workers();
  parallel_pieces(pieces, workers, body);
}

}  // namespace tierup
