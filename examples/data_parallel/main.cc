// Data-parallel training over MPI: each rank trains on its share of every batch.
//
//   mpirun -n 2 data_parallel MODEL OUT [REPLICAS]
//
// The model takes (input [N, 6], target [N, 3]) and gives the loss. All ranks end with the same
// weights, to the bit; rank 0 writes them.
#include <mpi.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "tierup/tierup.h"

namespace {

constexpr int64_t kRows = 16;  // Of a batch, over all ranks.
constexpr int kBatches = 4;
constexpr int kSteps = 20;

void all_reduce(const tierup::Tensor& bucket) {
  const bool is_double = bucket.dtype() == tierup::DType::kFloat64;
  MPI_Allreduce(MPI_IN_PLACE, bucket.data(), static_cast<int>(bucket.element_count()),
                is_double ? MPI_DOUBLE : MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

tierup::Tensor made(int64_t width, double phase) {
  tierup::Tensor tensor =
      tierup::Tensor::empty(std::vector<int64_t>{kRows, width}, tierup::DType::kFloat32);
  for (int64_t i = 0; i < tensor.element_count(); ++i) {
    tensor.data<float>()[i] = static_cast<float>(std::sin(phase + 0.37 * static_cast<double>(i)));
  }
  return tensor;
}

void train(int rank, int ranks, int replicas, const char* model, const char* out) {
  const tierup::Module module = tierup::Module::load(model, {.threads = 1});
  const tierup::Optimizer optimizer("AdamW", module, {{"lr", 0.01}});
  const tierup::DataParallel parallel(
      {.replicas = replicas, .all_reduce = all_reduce, .processes = ranks});
  const int64_t share = kRows / (ranks * replicas);
  for (int step = 0; step < kSteps; ++step) {
    const tierup::Tensor input = made(6, step % kBatches);
    const tierup::Tensor target = made(3, 2 * (step % kBatches));
    optimizer.zero_grad();
    const auto losses = parallel.backward(optimizer.parameters(), [&](int replica) {
      const int64_t first = (rank * replicas + replica) * share;
      return module
          .call({input.rows(first, first + share), target.rows(first, first + share)}, {},
                {.gradients = true})
          .to_tensor();
    });
    optimizer.step();
    if (rank == 0)
      std::printf("step %d: loss %.6f\n", step, static_cast<double>(losses[0].data<float>()[0]));
  }
  if (rank == 0) module.save_state_dict(out);
}

}  // namespace

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  int rank = 0;
  int ranks = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  int status = 2;
  try {
    if (argc < 3) throw std::invalid_argument("usage: data_parallel MODEL OUT [REPLICAS]");
    train(rank, ranks, argc > 3 ? std::atoi(argv[3]) : 1, argv[1], argv[2]);
    status = 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "rank %d: %s\n", rank, error.what());
    MPI_Abort(MPI_COMM_WORLD, status);  // The others may be waiting.
  }
  MPI_Finalize();
  return status;
}
