#include "tierup/ops/table/variants.h"

#include <algorithm>

#include "tierup/kernels/memory/copy.h"

namespace tierup::ops::detail {
namespace {

bool same_shape(IntSpan a, IntSpan b) { return std::equal(a.begin(), a.end(), b.begin(), b.end()); }

void check_castable(const Tensor& target, const Tensor& result) {
  require(target.defined(), ErrorCode::kTypeError, "the tensor to write to must not be None");
  require(can_cast(result.dtype(), target.dtype()), ErrorCode::kTypeError,
          "result type {} can't be cast to the desired output type {}",
          scalar_type_name(result.dtype()), scalar_type_name(target.dtype()));
}

}  // namespace

void write_inplace(const Tensor& target, const Tensor& result) {
  if (!target.is_same(result)) {
    check_castable(target, result);
    check_no_internal_overlap(target);
    if (!same_shape(target.sizes(), result.sizes())) {
      fail(ErrorCode::kInvalidArgument, "output with shape {} doesn't match the broadcast shape {}",
           shape_string(target.sizes()), shape_string(result.sizes()));
    }
    kernels::copy_into(target, result);
  }
  target.bump_version();
}

void write_out(const Tensor& out, const Tensor& result) {
  check_castable(out, result);
  if (!same_shape(out.sizes(), result.sizes())) {
    const auto needed = static_cast<size_t>(result.numel()) * out.item_size() +
                        static_cast<size_t>(out.offset()) * out.item_size();
    if (out.storage()->bytes() < needed) out.storage()->resize(needed);
    const IntVector contiguous = contiguous_strides(result.sizes());
    const bool dense = result.is_non_overlapping_and_dense();
    out.set_geometry(result.sizes(),
                     dense ? result.strides() : IntSpan(contiguous.data(), contiguous.size()),
                     out.offset());
  }
  write_inplace(out, result);
}

}  // namespace tierup::ops::detail
