#include "tierup/autodiff/call_trace.h"

#include <algorithm>

#include "tierup/base/error.h"
#include "tierup/ops/shapes/certain_sizes.h"
#include "tierup/ops/table/role.h"

namespace tierup::autodiff {
namespace {

[[noreturn]] void refuse(const ops::Op& op, std::string_view reason) {
  fail(ErrorCode::kUnsupported, "{} {}", op.schema().qualified_name(), reason);
}

bool holds_tensors(const IValue& value) {
  return value.is_list() && std::ranges::any_of(value.to_list().items, [](const IValue& item) {
           return item.is_tensor();
         });
}

bool makes_tensors(std::span<const IValue> results) {
  return std::ranges::any_of(
      results, [](const IValue& result) { return result.is_tensor() || holds_tensors(result); });
}

// Of operators that give no tensor: whether they look at no more of one than its geometry.
bool reads_no_data(const ops::Op& op, std::span<const IValue> args) {
  if (std::ranges::none_of(args, [](const IValue& arg) { return arg.is_tensor(); })) return true;
  return ops::reads_geometry_alone(op.role());
}

bool is_same_view(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.offset() == b.offset() &&
         std::ranges::equal(a.sizes(), b.sizes()) && std::ranges::equal(a.strides(), b.strides());
}

}  // namespace

TraceId CallTrace::add(const Tensor& tensor) {
  const TensorImpl& impl = *tensor.impl();
  require(!is_complex(impl.dtype) && !impl.conjugate && !impl.negative, ErrorCode::kUnsupported,
          "complex values stay at tier 0");
  const auto id = static_cast<TraceId>(tensors_.size());
  tensors_.push_back(tensor);
  by_memory_[impl.storage.get()].push_back(id);
  return id;
}

std::optional<TraceId> CallTrace::find(const Tensor& tensor) const {
  const auto found = by_memory_.find(tensor.storage().get());
  if (found == by_memory_.end()) return std::nullopt;
  for (auto id = found->second.rbegin(); id != found->second.rend(); ++id) {
    if (is_same_view(tensors_[*id], tensor)) return *id;
  }
  return std::nullopt;
}

void CallTrace::call(const ops::Op& op, ops::OpCall& call, const ir::Node* origin) {
  const SmallVector<IValue, 6> held(call.args.begin(), call.args.end());
  const size_t noted = forward_.size();
  if (is_backward_) {
    op.kernel()(call);
  } else {
    tape_.call(op, call, origin);
  }
  if (!makes_tensors(call.results)) {
    if (!reads_no_data(op, held)) refuse(op, "reads a number out of a tensor");
    return;
  }
  // The parts of a composite have been noted.
  if (!is_backward_ && forward_.size() != noted) return;
  if (!is_backward_ && !has_certain_sizes(op, held, call.results))
    refuse(op, "gives sizes that depend on values");
  if (!gives_operand_back(op, held, call.results)) note(op, held, call.results, origin);
}

// contiguous() of what is contiguous, slices of the whole.
bool CallTrace::gives_operand_back(const ops::Op& op, std::span<const IValue> args,
                                   std::span<const IValue> results) const {
  if (op.schema().is_mutating() || results.size() != 1 || !results[0].is_tensor()) return false;
  const std::optional<TraceId> known = find(results[0].to_tensor());
  return known && std::ranges::any_of(args, [&](const IValue& arg) {
           return arg.is_tensor() && find(arg.to_tensor()) == known;
         });
}

void CallTrace::note(const ops::Op& op, std::span<const IValue> args,
                     std::span<const IValue> results, const ir::Node* origin) {
  TracedCall noted;
  noted.op = &op;
  noted.origin = origin;
  for (const IValue& arg : args) noted.args.push_back(arg_of(arg));
  for (const IValue& result : results) noted.results.push_back(result_of(result));
  (is_backward_ ? backward_ : forward_).push_back(std::move(noted));
}

TracedArg CallTrace::arg_of(const IValue& value) const {
  TracedArg arg;
  if (value.is_tensor()) {
    const std::optional<TraceId> id = find(value.to_tensor());
    require(id.has_value(), ErrorCode::kUnsupported, "a tensor comes from outside of the trace");
    arg.kind = TracedArg::Kind::kTensor;
    arg.tensor = *id;
  } else if (value.is_list()) {
    arg.kind = TracedArg::Kind::kList;
    arg.constant = value;
    for (const IValue& item : value.to_list().items) arg.list.push_back(arg_of(item));
  } else {
    require(!value.is_capsule() && !value.is_object() && !value.is_dict() && !value.is_tuple(),
            ErrorCode::kUnsupported, "a {} is no constant of a trace", value.tag_name());
    arg.constant = value;
  }
  return arg;
}

TracedResult CallTrace::result_of(const IValue& value) {
  TracedResult result;
  if (value.is_tensor()) {
    result.kind = TracedResult::Kind::kTensor;
    result.tensors.push_back(add(value.to_tensor()));
  } else if (holds_tensors(value)) {
    result.kind = TracedResult::Kind::kList;
    for (const IValue& item : value.to_list().items) {
      require(item.is_tensor(), ErrorCode::kUnsupported, "a list of tensors holds other values");
      result.tensors.push_back(add(item.to_tensor()));
    }
  }
  return result;
}

void CallTrace::backward(ops::RunContext& /*context*/, const ops::BackwardRequest& /*request*/) {
  fail(ErrorCode::kUnsupported, "a backward pass inside of a trace");
}

std::vector<Tensor> CallTrace::grad(ops::RunContext& /*context*/,
                                    const ops::BackwardRequest& /*request*/) {
  fail(ErrorCode::kUnsupported, "a backward pass inside of a trace");
}

void CallTrace::retain_grad(const Tensor& /*tensor*/) {
  fail(ErrorCode::kUnsupported, "retain_grad inside of a trace");
}

void CallTrace::detach_in_place(const Tensor& /*tensor*/) {
  fail(ErrorCode::kUnsupported, "detach_ inside of a trace");
}

void CallTrace::set_requires_grad(const Tensor& /*tensor*/, bool /*value*/) {
  fail(ErrorCode::kUnsupported, "requires_grad_ inside of a trace");
}

}  // namespace tierup::autodiff
