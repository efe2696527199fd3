// EagerBuilder: runs a formula, or a decomposition, on tensors.
//
// Each call of the formula is a call of a row, recorded if the context has a tape and grad mode is
// on: that is all that second order needs.
#pragma once

#include <vector>

#include "tierup/autodiff/call_context.h"
#include "tierup/autodiff/node.h"
#include "tierup/ops/table/tape.h"

namespace tierup::autodiff {

// The gradients that a formula gave: by argument; of a list of tensors, by element. Undefined where
// it gave none.
struct GivenGradients {
  InlineVector<Tensor, 3> by_argument;
  std::vector<std::pair<size_t, std::vector<Tensor>>> by_element;

  Tensor take(size_t argument, int64_t element);
};

// What has come so far of the gradients of a call's arguments.
class ArgumentSums {
 public:
  virtual ~ArgumentSums() = default;
  // Adds a b to the argument's sum, now or later in the pass; false if that cannot be done.
  virtual bool add_product(size_t argument, const Tensor& a, const Tensor& b) = 0;
};

class EagerBuilder final : public CallContext {
 public:
  // `context` runs the calls. `owner`, the node of this call, may be null: saved results are its
  // results again while a backward pass is recorded.
  EagerBuilder(RecordedCall& call, ops::RunContext& context, Ref<Node> owner = nullptr)
      : CallContext(call), context_(context), owner_(std::move(owner)) {}

  // From now on a product that is the gradient of an argument is left to its sum, which saves a
  // tensor and passes over both; the formula's result is undefined then.
  void add_products_to(ArgumentSums& sums) { sums_ = &sums; }

  // The gradients of the arguments that want one. `cotangents`: one a result; for a result that is
  // a list of tensors they stand in `element_cotangents`; undefined tensors for those that are
  // undefined. Throws kUnsupported if no derivative is known,
  // and what rows throw.
  GivenGradients run_formula(std::span<const Tensor> cotangents,
                             std::span<const std::vector<Tensor>> element_cotangents);
  // The results of the row by its decomposition.
  void run_decomposition(std::span<IValue> results);

 private:
  bool grad_defined(size_t result) const override;
  ops::GradValue read_grad(size_t result) override;
  ops::GradValue read_grad_element(size_t result, size_t element) override;
  void take(size_t i, int64_t element, ops::GradValue value) override;
  ops::GradValue read_argument(size_t i, int64_t element) override;
  ops::GradValue read_result(size_t k) override;
  ops::GradValue constant(IValue value) override { return keep(std::move(value)); }
  void call(const ops::Op& op, std::span<ops::GradArg> operands,
            std::span<ops::GradValue> results) override;
  std::vector<ops::GradValue> unpack(ops::GradValue list, size_t count) override;
  ops::GradValue conjugate(ops::GradValue value) override;
  void take_result(size_t k, ops::GradValue value) override;
  void take_result_list(size_t k, const std::vector<ops::GradValue>& values) override;

  ops::GradValue keep(IValue value);
  ops::GradValue keep_tensor(const Tensor& tensor);
  const IValue& value(ops::GradValue v) const { return values_[static_cast<size_t>(v.index())]; }
  Tensor tensor(ops::GradValue v) const { return value(v).to_tensor(); }
  IValue operand(const ops::GradArg& arg) const;
  bool call_with_undefined(const ops::Op& op, std::span<const ops::GradArg> operands,
                           ops::GradValue& result);
  // A product that the formula has asked for and that nothing has read yet.
  struct OpenProduct {
    int32_t place = -1;  // Of its value; -1: there is none.
    Tensor a;
    Tensor b;
  };
  bool opens_product(const ops::Op& op, std::span<const ops::GradArg> operands) const;
  void close_product();
  bool adds_product(size_t argument, ops::GradValue gradient);
  ops::GradValue summed_to(ops::GradValue gradient, const RecordedValue& target);
  ops::GradValue cast_to(ops::GradValue gradient, ScalarType dtype);

  ops::RunContext& context_;
  Ref<Node> owner_;
  ArgumentSums* sums_ = nullptr;
  OpenProduct product_;
  InlineVector<IValue, 12> values_;
  std::span<const Tensor> cotangents_;
  std::span<const std::vector<Tensor>> element_cotangents_;
  GivenGradients given_;
  std::span<IValue> decomposed_;
};

// Calls a row in this context, under its tape if it has one.
void call_row(const ops::Op& op, std::span<IValue> args, std::span<IValue> results,
              ops::RunContext& context);
// The same of a row with one result; arguments that are not given have their defaults.
IValue call_named(ops::OpName name, SmallVector<IValue, 6> args, ops::RunContext& context);
// A new tensor that lies so, holding what `values` holds; zeros if that is undefined.
Tensor copy_laid_out(IntSpan sizes, IntSpan strides, ScalarType dtype, const Tensor& values,
                     ops::RunContext& context);

}  // namespace tierup::autodiff
