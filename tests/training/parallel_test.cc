// Replicas of a step in threads, and processes that sum through a callback: gradients of the whole
// batch, and the same bits each time.
#include <gtest/gtest.h>

#include <barrier>
#include <chrono>
#include <cmath>
#include <cstring>
#include <thread>

#include "tierup/tierup.h"

namespace {

using namespace tierup::v1;

constexpr int64_t kRows = 8;

Tensor made(int64_t width, double phase) {
  Tensor tensor = Tensor::empty(std::vector<int64_t>{kRows, width}, DType::kFloat32);
  for (int64_t i = 0; i < tensor.element_count(); ++i)
    tensor.data<float>()[i] = static_cast<float>(std::sin(phase + 0.37 * static_cast<double>(i)));
  return tensor;
}

Module mlp() { return Module::load("tests/data/training/mlp_mse.train.pt", {.threads = 1}); }

// The loss of part `part` of `parts` of a batch.
Tensor loss_of(const Module& module, int part, int parts, double phase) {
  const int64_t share = kRows / parts;
  const int64_t first = part * share;
  return module
      .call({made(6, phase).rows(first, first + share),
             made(3, 2 * phase).rows(first, first + share)},
            {}, {.gradients = true})
      .to_tensor();
}

std::vector<Tensor> parameters_of(const Module& module) {
  std::vector<Tensor> all;
  for (const auto& [name, tensor] : module.parameters()) all.push_back(tensor);
  return all;
}

std::vector<float> numbers(const std::vector<Tensor>& tensors) {
  std::vector<float> all;
  for (const Tensor& tensor : tensors) {
    const Tensor row = tensor.contiguous();
    all.insert(all.end(), row.data<float>(), row.data<float>() + row.element_count());
  }
  return all;
}

std::vector<float> gradients_of(const Module& module) {
  std::vector<Tensor> all;
  for (const Tensor& parameter : parameters_of(module)) all.push_back(grad_of(parameter));
  return numbers(all);
}

void expect_near(const std::vector<float>& found, const std::vector<float>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  float largest = 0;
  for (const float x : wanted) largest = std::max(largest, std::abs(x));
  ASSERT_GT(largest, 0);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 1e-6F * largest) << i;
}

TEST(DataParallel, GivesTheGradientsOfTheWholeBatch) {
  const Module whole = mlp();
  backward(loss_of(whole, 0, 1, 1));
  for (const int replicas : {1, 2, 4}) {
    const Module module = mlp();
    const DataParallel parallel({.replicas = replicas});
    const auto losses = parallel.backward(
        parameters_of(module), [&](int replica) { return loss_of(module, replica, replicas, 1); });
    EXPECT_EQ(losses.size(), static_cast<size_t>(replicas));
    expect_near(gradients_of(module), gradients_of(whole));
    // They add to what is there, as those of a backward pass do.
    parallel.backward(parameters_of(module),
                      [&](int replica) { return loss_of(module, replica, replicas, 1); });
    backward(loss_of(whole, 0, 1, 1));
    expect_near(gradients_of(module), gradients_of(whole));
    zero_grad(whole);
    backward(loss_of(whole, 0, 1, 1));
  }
}

// `slow`: the replica that starts late.
std::vector<float> trained(int slow) {
  const Module module = mlp();
  const Optimizer optimizer("AdamW", module, {{"lr", 0.01}});
  const DataParallel parallel({.replicas = 3});
  for (int step = 0; step < 12; ++step) {
    optimizer.zero_grad();
    parallel.backward(optimizer.parameters(), [&](int replica) {
      if (replica == slow) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return loss_of(module, replica, 4, step);
    });
    optimizer.step();
  }
  return numbers(parameters_of(module));
}

TEST(DataParallel, WhoIsFasterChangesNoBit) {
  const std::vector<float> first = trained(0);
  EXPECT_EQ(trained(2), first);
  EXPECT_EQ(trained(1), first);
}

// A sum over two threads that stand for processes, in the order of their ranks.
class TwoProcesses {
 public:
  void sum(int rank, const Tensor& bucket) {
    buckets_[rank] = &bucket;
    meet_.arrive_and_wait();
    const std::vector<float> own = numbers({*buckets_[0]});
    const std::vector<float> other = numbers({*buckets_[1]});
    meet_.arrive_and_wait();
    for (size_t i = 0; i < own.size(); ++i) bucket.data<float>()[i] = own[i] + other[i];
    ++calls_[rank];
  }
  int calls(int rank) const { return calls_[rank]; }

 private:
  std::barrier<> meet_{2};
  const Tensor* buckets_[2] = {};
  int calls_[2] = {};
};

TEST(DataParallel, ProcessesSumTheirBucketsInOneOrder) {
  const Module whole = mlp();
  backward(loss_of(whole, 0, 1, 1));
  TwoProcesses processes;
  const std::vector<Module> modules{mlp(), mlp()};
  const auto pass = [&](int rank) {
    const DataParallel parallel(
        {.replicas = 2,
         .all_reduce = [&, rank](const Tensor& bucket) { processes.sum(rank, bucket); },
         .processes = 2,
         .bucket_bytes = 256});
    parallel.backward(parameters_of(modules[static_cast<size_t>(rank)]), [&](int replica) {
      return loss_of(modules[static_cast<size_t>(rank)], 2 * rank + replica, 4, 1);
    });
  };
  std::thread other([&] { pass(1); });
  pass(0);
  other.join();
  EXPECT_EQ(gradients_of(modules[0]), gradients_of(modules[1]));
  expect_near(gradients_of(modules[0]), gradients_of(whole));
  EXPECT_EQ(processes.calls(0), processes.calls(1));
  EXPECT_GT(processes.calls(0), 2);  // More than one bucket, and which gradients there are.
}

// Dropout draws from its module's stream: one for each replica.
std::vector<float> trained_with_dropout() {
  const char* path = "tests/data/training/seeded_dropout.train.pt";
  const std::vector<Module> modules{Module::load(path, {.threads = 1}),
                                    Module::load(path, {.threads = 1})};
  modules[1].share_parameters(modules[0]);
  modules[0].set_seed(1);
  modules[1].set_seed(2);
  const Optimizer optimizer("SGD", modules[0], {{"lr", 0.1}});
  const DataParallel parallel({.replicas = 2});
  for (int step = 0; step < 8; ++step) {
    optimizer.zero_grad();
    parallel.backward(optimizer.parameters(), [&](int replica) {
      const Tensor classes = Tensor::zeros(std::vector<int64_t>{kRows}, DType::kInt64);
      return modules[static_cast<size_t>(replica)]
          .call({made(5, step + replica), classes}, {}, {.gradients = true})
          .to_tensor();
    });
    optimizer.step();
  }
  EXPECT_EQ(numbers(parameters_of(modules[0])), numbers(parameters_of(modules[1])));
  return numbers(parameters_of(modules[0]));
}

TEST(DataParallel, ReplicasWithStreamsOfTheirOwnShareWeights) {
  const std::vector<float> first = trained_with_dropout();
  EXPECT_EQ(trained_with_dropout(), first);
}

TEST(DataParallel, FailuresAreThoseOfTheFirstReplicaAndChangeNothing) {
  const Module module = mlp();
  const DataParallel parallel({.replicas = 2});
  try {
    parallel.backward(parameters_of(module), [&](int replica) -> Tensor {
      if (replica == 1)
        return module.call({made(6, 0), made(4, 0)}, {}, {.gradients = true}).to_tensor();
      return loss_of(module, 0, 2, 1);
    });
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_NE(std::strstr(error.what(), "broadcast_tensors"), nullptr) << error.what();
  }
  EXPECT_FALSE(grad_of(parameters_of(module)[0]).defined());
  EXPECT_THROW(DataParallel({.replicas = 0}), Error);
  EXPECT_THROW(DataParallel({.processes = 2}), Error);
  EXPECT_THROW(module.share_parameters(Module::load("tests/data/training/seeded_dropout.train.pt")),
               Error);
}

}  // namespace
