// v1::DataParallel: threads that stay, one for each replica but the first.
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "tierup/api/model/replica_gradients.h"
#include "tierup/api/public/facade.h"
#include "tierup/parallel.h"
#include "tierup/training.h"

namespace tierup::v1 {

// Runs one job for each number below `count` at once: 0 in the caller's thread, the others in
// threads that are theirs for ever, so that what kernels keep by thread is found again.
class ReplicaThreads {
 public:
  using Job = std::function<void(int replica)>;

  explicit ReplicaThreads(int count) {
    try {
      for (int replica = 1; replica < count; ++replica) {
        threads_.emplace_back([this, replica] { serve(replica); });
      }
    } catch (...) {  // The system has no more threads.
      end();
      throw;
    }
  }
  ~ReplicaThreads() { end(); }
  ReplicaThreads(const ReplicaThreads&) = delete;
  ReplicaThreads& operator=(const ReplicaThreads&) = delete;

  // The job must not throw.
  void run(const Job& job) {
    {
      const std::lock_guard lock(mutex_);
      job_ = &job;
      ++round_;
      running_ = threads_.size();
    }
    start_.notify_all();
    job(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return running_ == 0; });
  }

 private:
  void end() {
    {
      const std::lock_guard lock(mutex_);
      ends_ = true;
    }
    start_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  void serve(int replica) {
    for (uint64_t seen = 0;;) {
      const Job* job = nullptr;
      {
        std::unique_lock lock(mutex_);
        start_.wait(lock, [&] { return ends_ || round_ != seen; });
        if (ends_) return;
        seen = round_;
        job = job_;
      }
      (*job)(replica);
      const std::lock_guard lock(mutex_);
      if (--running_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::condition_variable start_;
  std::condition_variable done_;
  const Job* job_ = nullptr;
  uint64_t round_ = 0;
  size_t running_ = 0;
  bool ends_ = false;
};

namespace {

ParallelOptions checked(ParallelOptions options) {
  const auto check = [](bool fits, const char* sentence) {
    require(fits, ::tierup::ErrorCode::kInvalidArgument, "{}", sentence);
  };
  check(options.replicas >= 1, "data-parallel training needs at least one replica");
  check(options.processes >= 1, "data-parallel training needs at least one process");
  check(options.processes == 1 || options.all_reduce,
        "several processes need an all_reduce that sums over them");
  check(options.bucket_bytes > 0, "a bucket must have room for a number");
  return options;
}

// What one replica gave.
struct Share {
  Tensor loss;
  std::vector<::tierup::Tensor> gradients;
  std::exception_ptr failure;
};

}  // namespace

struct DataParallel::Impl {
  explicit Impl(ParallelOptions given) : options(std::move(given)), threads(options.replicas) {}
  const ParallelOptions options;
  ReplicaThreads threads;
  std::mutex in_use;
};

DataParallel::DataParallel(ParallelOptions options)
    : impl_(guarded([&] { return std::make_shared<Impl>(checked(std::move(options))); })) {}
DataParallel::~DataParallel() = default;
DataParallel::DataParallel(const DataParallel&) noexcept = default;
DataParallel& DataParallel::operator=(const DataParallel&) noexcept = default;

std::vector<Tensor> DataParallel::backward(
    const std::vector<Tensor>& parameters,
    const std::function<Tensor(int replica)>& loss_of) const {
  const std::lock_guard lock(impl_->in_use);
  std::vector<Share> shares(static_cast<size_t>(impl_->options.replicas));
  impl_->threads.run([&](int replica) {
    Share& share = shares[static_cast<size_t>(replica)];
    try {
      const Tensor loss = loss_of(replica);
      for (const Tensor& gradient : grad({loss}, parameters, {.allow_unused = true})) {
        share.gradients.push_back(Access::unwrap(gradient));
      }
      share.loss = detach(loss);
    } catch (...) {
      share.failure = std::current_exception();
    }
  });
  for (const Share& share : shares) {
    if (share.failure) std::rethrow_exception(share.failure);
  }
  return guarded([&] {
    std::vector<::tierup::Tensor> leaves;
    for (const Tensor& parameter : parameters) leaves.push_back(Access::unwrap(parameter));
    std::vector<std::vector<::tierup::Tensor>> by_replica;
    std::vector<Tensor> losses;
    for (Share& share : shares) {
      by_replica.push_back(std::move(share.gradients));
      losses.push_back(std::move(share.loss));
    }
    api::AllReduce all{nullptr, impl_->options.processes, impl_->options.bucket_bytes};
    if (impl_->options.all_reduce) {
      all.sum = [&](const ::tierup::Tensor& bucket) {
        impl_->options.all_reduce(Access::wrap(bucket));
      };
    }
    api::accumulate_mean(leaves, std::move(by_replica), all);
    return losses;
  });
}

}  // namespace tierup::v1
