#include "tierup/autodiff/accumulate.h"

#include <algorithm>

#include "tierup/autodiff/eager_builder.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {

bool is_sole(const Tensor& tensor) {
  return tensor.ref()->use_count() == 1 && tensor.storage()->use_count() == 1 &&
         tensor.storage()->owns_memory();
}

namespace {

bool same(IntSpan a, IntSpan b) { return std::ranges::equal(a, b); }

// The strides of a leaf's first gradient (C6).
IntVector gradient_strides(const TensorImpl& leaf) {
  const Tensor tensor{Ref<TensorImpl>(const_cast<TensorImpl*>(&leaf))};
  if (tensor.is_non_overlapping_and_dense()) return leaf.strides;
  return contiguous_strides(leaf.sizes);
}

Tensor first_gradient(const TensorImpl& leaf, Tensor gradient, ops::RunContext& context) {
  const IntVector strides = gradient_strides(leaf);
  const bool fits = same(gradient.strides(), strides) || gradient.numel() == 0;
  if (fits && (context.tape != nullptr || is_sole(gradient))) return gradient;
  return copy_laid_out(gradient.sizes(), strides, gradient.dtype(), gradient, context);
}

void check_shape(const TensorImpl& leaf, const Tensor& gradient) {
  if (same(gradient.sizes(), leaf.sizes)) return;
  fail(ErrorCode::kInvalidArgument,
       "a gradient of sizes {} cannot be accumulated into a leaf of sizes {}",
       shape_string(gradient.sizes()), shape_string(leaf.sizes));
}

std::string count_text(size_t n) { return fmt::format("{}", n); }

}  // namespace

void add_gradient(Tensor& total, Tensor gradient, ops::RunContext& context) {
  if (!total.defined()) {
    total = std::move(gradient);
    return;
  }
  const bool in_place = context.tape == nullptr && is_sole(total) &&
                        total.is_non_overlapping_and_dense() && total.dtype() == gradient.dtype();
  if (in_place) {
    call_named("aten::add_.Tensor", {total, gradient}, context);
  } else {
    total = call_named("aten::add.Tensor", {total, gradient}, context).to_tensor();
  }
}

void accumulate(TensorImpl& leaf, Tensor gradient, ops::RunContext& context) {
  if (!leaf.requires_grad) return;
  Record& record = leaf_record(leaf);
  record.update_grad([&](Tensor old) {
    check_shape(leaf, gradient);
    if (!old.defined()) return first_gradient(leaf, std::move(gradient), context);
    if (context.tape != nullptr) {
      return call_named("aten::add.Tensor", {old, gradient}, context).to_tensor();
    }
    call_named("aten::add_.Tensor", {old, gradient}, context);
    return old;
  });
  record.run_after_hooks();
}

void retain_gradient(Record& record, const Tensor& gradient, ops::RunContext& context) {
  record.update_grad([&](const Tensor& old) {
    if (!old.defined()) return gradient;
    return call_named("aten::add.Tensor", {old, gradient}, context).to_tensor();
  });
}

Tensor root_gradient(const ops::BackwardRequest& request, size_t i, ops::RunContext& context) {
  const Tensor& output = request.outputs[i];
  if (i >= request.cotangents.size() || !request.cotangents[i].defined()) {
    return call_named("aten::ones",
                      {make_int_list(output.sizes()), static_cast<int64_t>(output.dtype())},
                      context)
        .to_tensor();
  }
  const Tensor& given = request.cotangents[i];
  if (given.dtype() != output.dtype()) {
    return call_named("aten::_to_copy", {given, static_cast<int64_t>(output.dtype())}, context)
        .to_tensor();
  }
  return given;
}

namespace {

void check_output(const ops::BackwardRequest& request, size_t i) {
  const Tensor& output = request.outputs[i];
  const Record* record = record_of(*output.impl());
  const bool has_node = record != nullptr && !record->is_leaf();
  require(output.requires_grad() || has_node, ErrorCode::kInvalidArgument,
          "element {} of tensors does not require grad and does not have a grad_fn", i);
  if (i < request.cotangents.size() && request.cotangents[i].defined()) {
    const Tensor& given = request.cotangents[i];
    require(same(given.sizes(), output.sizes()), ErrorCode::kInvalidArgument,
            "Mismatch in shape: grad_output[{}] has a shape of {} and output[{}] has a shape of "
            "{}.",
            i, shape_string(given.sizes()), i, shape_string(output.sizes()));
    require(is_complex(given.dtype()) == is_complex(output.dtype()), ErrorCode::kInvalidArgument,
            "For complex Tensors, both grad_output and output are required to have the same dtype. "
            "Mismatch in dtype: grad_output[{}] has a dtype of {} and output[{}] has a dtype of "
            "{}.",
            i, scalar_type_name(given.dtype()), i, scalar_type_name(output.dtype()));
    return;
  }
  require(output.numel() == 1, ErrorCode::kInvalidArgument,
          "grad can be implicitly created only for scalar outputs");
  require(is_floating(output.dtype()), ErrorCode::kInvalidArgument,
          "grad can be implicitly created only for real scalar outputs but got {}",
          scalar_type_name(output.dtype()));
}

}  // namespace

void check_request(const ops::BackwardRequest& request, bool captures) {
  require(request.cotangents.empty() || request.cotangents.size() == request.outputs.size(),
          ErrorCode::kInvalidArgument, "got {} tensors and {} gradients",
          count_text(request.outputs.size()), count_text(request.cotangents.size()));
  for (size_t i = 0; i < request.outputs.size(); ++i) {
    require(request.outputs[i].defined(), ErrorCode::kInvalidArgument, "output {} is None", i);
    check_output(request, i);
  }
  for (const Tensor& input : request.inputs) {
    require(input.defined() && input.requires_grad(), ErrorCode::kInvalidArgument,
            "One of the differentiated Tensors does not require grad");
  }
  require(!captures || !request.inputs.empty(), ErrorCode::kInvalidArgument,
          "grad requires non-empty inputs.");
}

void check_used(const ops::BackwardRequest& request, const std::vector<Tensor>& gradients) {
  for (size_t i = 0; i < gradients.size() && !request.allow_unused; ++i) {
    require(gradients[i].defined(), ErrorCode::kInvalidArgument,
            "The differentiated Tensor at index {} appears to not have been used in the graph. Set "
            "allow_unused=True if this is the desired behavior.",
            i);
  }
}

Tensor mean_of_sum(const Tensor& sum, double parts, ops::RunContext& context) {
  if (parts == 1) return sum;
  IValue args[] = {sum, parts};
  IValue result;
  ops::OpCall call{args, {&result, 1}, context};
  ops::named_op("aten::div.Scalar").kernel()(call);
  return result.to_tensor();
}

}  // namespace tierup::autodiff
