// Undefined operands: a call of which some operand is an undefined gradient is not made and gives
// undefined results, since formulas are linear in gradients; sums and differences give the operand
// that is there. What `give` takes is brought to the argument's form here and nowhere else: real
// part, sum over what was broadcast, dtype.
#include "tierup/autodiff/eager_builder.h"

#include <algorithm>

#include "tierup/autodiff/accumulate.h"
#include "tierup/base/error.h"

namespace tierup::autodiff {

using ops::GradArg;
using ops::GradValue;

Tensor GivenGradients::take(size_t argument, int64_t element) {
  if (element < 0) return std::move(by_argument[argument]);
  for (auto& [index, tensors] : by_element) {
    if (index == argument) return std::move(tensors[static_cast<size_t>(element)]);
  }
  return {};
}

GivenGradients EagerBuilder::run_formula(std::span<const Tensor> cotangents,
                                         std::span<const std::vector<Tensor>> element_cotangents) {
  const ops::Derivative& derivative = *call_.op->derivative();
  cotangents_ = cotangents;
  element_cotangents_ = element_cotangents;
  given_.by_argument.resize(call_.args.size());
  if (derivative.kind == ops::DerivativeKind::kFormula) {
    derivative.function(*this);
  } else if (derivative.kind == ops::DerivativeKind::kZero) {
    for (size_t i = 0; i < call_.args.size(); ++i) give_zeros(i);
  } else {
    fail(ErrorCode::kUnsupported, "derivative for {} is not implemented", call_.op->schema().name);
  }
  return std::move(given_);
}

void EagerBuilder::run_decomposition(std::span<IValue> results) {
  decomposed_ = results;
  call_.op->derivative()->function(*this);
}

bool EagerBuilder::grad_defined(size_t result) const {
  if (result < cotangents_.size() && cotangents_[result].defined()) return true;
  if (result >= element_cotangents_.size()) return false;
  return std::ranges::any_of(element_cotangents_[result],
                             [](const Tensor& tensor) { return tensor.defined(); });
}

GradValue EagerBuilder::read_grad(size_t result) {
  return result < cotangents_.size() ? keep_tensor(cotangents_[result]) : GradValue();
}

GradValue EagerBuilder::read_grad_element(size_t result, size_t element) {
  if (result >= element_cotangents_.size()) return {};
  const std::vector<Tensor>& elements = element_cotangents_[result];
  return element < elements.size() ? keep_tensor(elements[element]) : GradValue();
}

GradValue EagerBuilder::read_argument(size_t i, int64_t element) {
  const RecordedValue& recorded = at(i, element);
  switch (recorded.kind) {
    case RecordedValue::Kind::kConstant: return keep(recorded.constant);
    case RecordedValue::Kind::kTensor: return keep_tensor(recorded.saved.tensor());
    case RecordedValue::Kind::kTensorList: break;
  }
  std::vector<Tensor> tensors;
  for (const RecordedValue& item : *recorded.elements) tensors.push_back(item.saved.tensor());
  return keep(make_tensor_list(std::move(tensors)));
}

GradValue EagerBuilder::read_result(size_t k) {
  const Tensor& saved = call_.results[k].saved.tensor();
  if (!saved.defined() || !owner_ || context_.tape == nullptr) return keep_tensor(saved);
  const Tensor again = saved.detach();
  again.impl()->autograd = make_ref<Record>(owner_, static_cast<uint32_t>(k));
  again.set_requires_grad(true);
  return keep_tensor(again);
}

void EagerBuilder::take(size_t i, int64_t element, GradValue gradient) {
  if (!gradient.defined()) return;
  if (element < 0 && adds_product(i, gradient)) return;
  close_product();
  if (value(gradient).is_none()) return;
  const RecordedValue& target = at(i, element);
  gradient = cast_to(summed_to(gradient, target), target.dtype);
  if (element < 0) {
    given_.by_argument[i] = tensor(gradient);
    return;
  }
  auto& lists = given_.by_element;
  auto found = std::ranges::find(lists, i, &std::pair<size_t, std::vector<Tensor>>::first);
  if (found == lists.end()) {
    lists.emplace_back(i, std::vector<Tensor>(element_count(i)));
    found = lists.end() - 1;
  }
  found->second[static_cast<size_t>(element)] = tensor(gradient);
}

bool EagerBuilder::opens_product(const ops::Op& op, std::span<const GradArg> operands) const {
  static const ops::Op& mm = ops::named_op("aten::mm");
  if (sums_ == nullptr || &op != &mm) return false;
  return std::ranges::all_of(operands, [&](const GradArg& arg) {
    return arg.kind == GradArg::Kind::kValue && value(arg.value).is_tensor();
  });
}

// Makes the open product as any other call.
void EagerBuilder::close_product() {
  if (product_.place < 0) return;
  IValue args[] = {std::move(product_.a), std::move(product_.b)};
  call_row(ops::named_op("aten::mm"), args,
           {&values_[static_cast<size_t>(std::exchange(product_.place, -1))], 1}, context_);
}

// Adds the open product to the argument's sum if that is what it is for, and it fits.
bool EagerBuilder::adds_product(size_t argument, GradValue gradient) {
  if (product_.place < 0 || product_.place != gradient.index()) return false;
  if (!sums_->add_product(argument, product_.a, product_.b)) return false;
  product_ = {};
  return true;
}

// Sums over dimensions that broadcasting added or stretched.
GradValue EagerBuilder::summed_to(GradValue gradient, const RecordedValue& target) {
  const IntSpan from = value(gradient).tensor_impl()->sizes;
  const IntSpan to = target.sizes;
  if (std::ranges::equal(from, to)) return gradient;
  bool reducible = from.size() >= to.size();
  const size_t added = from.size() - to.size();
  IntVector dims;
  for (size_t d = 0; reducible && d < from.size(); ++d) {
    if (d < added || (to[d - added] == 1 && from[d] != 1)) {
      dims.push_back(static_cast<int64_t>(d));
    } else {
      reducible = from[d] == to[d - added];
    }
  }
  require(reducible, ErrorCode::kInternal,
          "the derivative of {} gives a gradient of sizes {} for an argument of sizes {}",
          call_.op->schema().qualified_name(), shape_string(from), shape_string(to));
  if (!dims.empty()) gradient = op("aten::sum.dim_IntList", gradient, dims, true);
  return op("aten::reshape", gradient, to);
}

GradValue EagerBuilder::cast_to(GradValue gradient, ScalarType dtype) {
  const ScalarType given = value(gradient).tensor_impl()->dtype;
  if (given == dtype) return gradient;
  if (tierup::is_complex(given) && !tierup::is_complex(dtype)) {
    return cast_to(op("aten::real", gradient), dtype);
  }
  return op("aten::_to_copy", gradient, dtype);
}

GradValue EagerBuilder::keep(IValue value) {
  values_.push_back(std::move(value));
  return GradValue(static_cast<int32_t>(values_.size() - 1));
}

GradValue EagerBuilder::keep_tensor(const Tensor& tensor) {
  return tensor.defined() ? keep(IValue(tensor)) : GradValue();
}

IValue EagerBuilder::operand(const GradArg& arg) const {
  switch (arg.kind) {
    case GradArg::Kind::kConstant: return arg.constant;
    case GradArg::Kind::kValue: return value(arg.value);
    case GradArg::Kind::kList: break;
  }
  std::vector<IValue> items;
  for (const GradValue& item : arg.list) {
    items.push_back(item.defined() ? value(item) : IValue());
  }
  return make_ref<ListValue>(Type::tensor(), std::move(items));
}

// Whether some operand is undefined; `result` is then what comes out instead of a call.
bool EagerBuilder::call_with_undefined(const ops::Op& op, std::span<const GradArg> operands,
                                       GradValue& result) {
  const auto is_undefined = [](const GradArg& arg) {
    return arg.kind == GradArg::Kind::kValue && !arg.value.defined();
  };
  if (std::ranges::none_of(operands, is_undefined)) return false;
  result = GradValue();
  const bool adds = &op == &ops::named_op("aten::add.Tensor");
  const bool subtracts = &op == &ops::named_op("aten::sub.Tensor");
  if ((!adds && !subtracts) || operands.size() != 2) return true;
  if (operands[1].value.defined() || operands[1].kind != GradArg::Kind::kValue) {
    result = subtracts ? this->op("aten::neg", operands[1].value) : operands[1].value;
  } else {
    result = operands[0].value;
  }
  return true;
}

void EagerBuilder::call(const ops::Op& op, std::span<GradArg> operands,
                        std::span<GradValue> results) {
  close_product();
  if (call_with_undefined(op, operands, results[0])) return;
  if (opens_product(op, operands)) {
    results[0] = keep(IValue());
    product_ = {results[0].index(), tensor(operands[0].value), tensor(operands[1].value)};
    return;
  }
  const auto& wanted = op.schema().arguments;
  TIERUP_CHECK(operands.size() <= wanted.size());
  InlineVector<IValue, 8> args;
  for (const GradArg& arg : operands) args.push_back(operand(arg));
  for (size_t i = args.size(); i < wanted.size(); ++i) {
    require(wanted[i].default_value.has_value(), ErrorCode::kInternal,
            "the derivative of {} calls {} without '{}'", call_.op->schema().qualified_name(),
            op.schema().qualified_name(), wanted[i].name);
    args.push_back(*wanted[i].default_value);
  }
  InlineVector<IValue, 3> made(op.schema().returns.size());
  call_row(op, args, made, context_);
  for (size_t k = 0; k < results.size(); ++k) results[k] = keep(std::move(made[k]));
}

std::vector<GradValue> EagerBuilder::unpack(GradValue list, size_t count) {
  close_product();
  std::vector<GradValue> items(count);
  if (!list.defined()) return items;
  const IValue held = value(list);
  const auto& values = held.to_list().items;
  for (size_t i = 0; i < count && i < values.size(); ++i) items[i] = keep(values[i]);
  return items;
}

GradValue EagerBuilder::conjugate(GradValue v) {
  close_product();
  if (!v.defined()) return v;
  const IValue& held = value(v);
  if (const TensorImpl* tensor = held.tensor_impl()) {
    return tierup::is_complex(tensor->dtype) ? op("aten::_conj", v) : v;
  }
  return held.is_complex() ? keep(std::conj(held.to_complex())) : v;
}

void EagerBuilder::take_result(size_t k, GradValue v) {
  decomposed_[k] = v.defined() ? value(v) : IValue();
}

void EagerBuilder::take_result_list(size_t k, const std::vector<GradValue>& values) {
  decomposed_[k] = operand(GradArg(values));
}

void call_row(const ops::Op& op, std::span<IValue> args, std::span<IValue> results,
              ops::RunContext& context) {
  ops::OpCall call{args, results, context};
  if (context.tape != nullptr) {
    context.tape->call(op, call, nullptr);
  } else {
    op.kernel()(call);
  }
}

IValue call_named(ops::OpName name, SmallVector<IValue, 6> args, ops::RunContext& context) {
  const ops::Op& op = ops::named_op(name);
  const auto& wanted = op.schema().arguments;
  for (size_t i = args.size(); i < wanted.size(); ++i) args.push_back(*wanted[i].default_value);
  IValue result;
  call_row(op, args, {&result, 1}, context);
  return result;
}

Tensor copy_laid_out(IntSpan sizes, IntSpan strides, ScalarType dtype, const Tensor& values,
                     ops::RunContext& context) {
  const IValue fresh = call_named(
      "aten::empty_strided",
      {make_int_list(sizes), make_int_list(strides), static_cast<int64_t>(dtype)}, context);
  return (values.defined() ? call_named("aten::copy_", {fresh, values}, context)
                           : call_named("aten::zero_", {fresh}, context))
      .to_tensor();
}

}  // namespace tierup::autodiff
