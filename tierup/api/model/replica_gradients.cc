#include "tierup/api/model/replica_gradients.h"

#include <algorithm>

#include "tierup/autodiff/accumulate.h"
#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::api {
namespace {

// Replica 0 with 1, 2 with 3, ...; then 0 with 2, ...: into those of replica 0.
std::vector<Tensor> sum_by_tree(std::vector<std::vector<Tensor>> by_replica) {
  ops::RunContext context;
  const size_t count = by_replica.size();
  for (size_t step = 1; step < count; step *= 2) {
    for (size_t r = 0; r + step < count; r += 2 * step) {
      for (size_t p = 0; p < by_replica[r].size(); ++p) {
        Tensor other = std::move(by_replica[r + step][p]);
        if (other.defined()) autodiff::add_gradient(by_replica[r][p], std::move(other), context);
      }
    }
  }
  return std::move(by_replica[0]);
}

// Numbers narrower than float32 travel as float32.
ScalarType travelling_dtype(ScalarType dtype) {
  require(is_floating(dtype), ErrorCode::kInvalidArgument,
          "gradients of {} cannot be summed over processes", scalar_type_name(dtype));
  return dtype == ScalarType::kDouble ? dtype : ScalarType::kFloat;
}

// Gradients of one dtype that travel together.
class Bucket {
 public:
  explicit Bucket(ScalarType dtype) : dtype_(dtype) {}
  bool fits(const Tensor& gradient, int64_t max_bytes) const {
    const int64_t bytes = (numel_ + gradient.numel()) * static_cast<int64_t>(item_size(dtype_));
    return travelling_dtype(gradient.dtype()) == dtype_ && (parts_.empty() || bytes <= max_bytes);
  }
  void add(Tensor& gradient) {
    parts_.push_back(&gradient);
    numel_ += gradient.numel();
  }
  void reduce(const AllReduce& all) {
    if (parts_.empty()) return;
    const Tensor bucket = Tensor::empty(IntVector{numel_}, dtype_);
    move([](const Tensor& gradient, const Tensor& place) { kernels::copy_into(place, gradient); },
         bucket);
    all.sum(bucket);
    move([](Tensor& gradient,
            const Tensor& place) { gradient = kernels::to_dtype(place, gradient.dtype()); },
         bucket);
  }

 private:
  template <typename F>
  void move(F&& f, const Tensor& bucket) {
    int64_t offset = 0;
    for (Tensor* part : parts_) {
      const IntVector sizes(part->sizes().begin(), part->sizes().end());
      const int64_t numel = part->numel();
      f(*part, bucket.as_view(sizes, contiguous_strides(sizes), offset));
      offset += numel;
    }
  }

  ScalarType dtype_;
  int64_t numel_ = 0;
  std::vector<Tensor*> parts_;
};

// Which leaves have a gradient in some process: those that have none here travel as zeros.
void agree_on_defined(const std::vector<Tensor>& leaves, std::vector<Tensor>& gradients,
                      const AllReduce& all) {
  const Tensor counts =
      Tensor::empty(IntVector{static_cast<int64_t>(leaves.size())}, ScalarType::kFloat);
  for (size_t p = 0; p < leaves.size(); ++p) {
    counts.data<float>()[p] = gradients[p].defined() ? 1.0F : 0.0F;
  }
  all.sum(counts);
  for (size_t p = 0; p < leaves.size(); ++p) {
    if (gradients[p].defined() || counts.data<float>()[p] == 0) continue;
    gradients[p] = Tensor::empty(leaves[p].sizes(), leaves[p].dtype());
    kernels::fill(gradients[p], Scalar(0.0));
  }
}

void sum_over_processes(const std::vector<Tensor>& leaves, std::vector<Tensor>& gradients,
                        const AllReduce& all) {
  for (const Tensor& leaf : leaves) travelling_dtype(leaf.dtype());  // Throws before all.sum().
  agree_on_defined(leaves, gradients, all);
  Bucket bucket(ScalarType::kFloat);
  for (Tensor& gradient : gradients) {
    if (!gradient.defined()) continue;
    if (!bucket.fits(gradient, all.bucket_bytes)) {
      bucket.reduce(all);
      bucket = Bucket(travelling_dtype(gradient.dtype()));
    }
    bucket.add(gradient);
  }
  bucket.reduce(all);
}

}  // namespace

void accumulate_mean(const std::vector<Tensor>& leaves, std::vector<std::vector<Tensor>> by_replica,
                     const AllReduce& all) {
  const double parts = static_cast<double>(by_replica.size()) * all.processes;
  std::vector<Tensor> sums = sum_by_tree(std::move(by_replica));
  if (all.sum) sum_over_processes(leaves, sums, all);
  ops::RunContext context;
  for (size_t p = 0; p < leaves.size(); ++p) {
    Tensor sum = std::move(sums[p]);
    if (sum.defined()) {
      autodiff::accumulate(*leaves[p].impl(), autodiff::mean_of_sum(sum, parts, context), context);
    }
  }
}

}  // namespace tierup::api
