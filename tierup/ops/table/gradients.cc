// What programs ask of gradients: backward passes, leaves' gradients, flags. The work is the
// tape's.
#include "tierup/ops/table/gradients.h"

#include "tierup/base/error.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/tape.h"

namespace tierup::ops::gradients {
namespace {

const GradRecord* record_of(const Tensor& tensor) {
  return static_cast<const GradRecord*>(tensor.impl()->autograd.get());
}

Tape& tape_of(const RunContext& context) {
  require(context.tape != nullptr, ErrorCode::kInvalidArgument,
          "element 0 of tensors does not require grad and does not have a grad_fn: nothing was "
          "recorded, since gradients are off in this run (ask for them in its options)");
  return *context.tape;
}

std::vector<Tensor> tensors_of(const IValue& value) {
  if (value.is_none()) return {};
  if (value.is_tensor()) return {value.to_tensor()};
  return detail::unbox_tensors(value);
}

// Arguments: outputs, cotangents, retain_graph, create_graph.
BackwardRequest request_of(const IValue& outputs, const IValue& cotangents, const IValue& retain,
                           const IValue& create) {
  BackwardRequest request;
  request.outputs = tensors_of(outputs);
  request.cotangents = tensors_of(cotangents);
  if (!retain.is_none()) request.retain_graph = retain.to_bool();
  request.create_graph = create.to_bool();
  return request;
}

}  // namespace

void backward(OpCall& call) {
  Tape& tape = tape_of(call.context);
  tape.backward(call.context, request_of(call.args[0], call.args[1], call.args[2], call.args[3]));
}

void grad(OpCall& call) {
  Tape& tape = tape_of(call.context);
  BackwardRequest request = request_of(call.args[0], call.args[2], call.args[3], call.args[4]);
  request.inputs = tensors_of(call.args[1]);
  request.allow_unused = call.args[5].to_bool();
  std::vector<IValue> items;
  for (Tensor& gradient : tape.grad(call.context, request)) items.emplace_back(std::move(gradient));
  call.results[0] = make_ref<ListValue>(Type::optional(Type::tensor()), std::move(items));
}

Tensor accumulated_grad(const Tensor& self) {
  const GradRecord* record = record_of(self);
  return record == nullptr ? Tensor() : record->grad();
}

bool is_leaf(const Tensor& self) {
  const GradRecord* record = record_of(self);
  return record == nullptr || record->is_leaf();
}

bool retains_grad(const Tensor& self) {
  const GradRecord* record = record_of(self);
  return record != nullptr && record->retains_grad();
}

int64_t output_number(const Tensor& self) {
  const GradRecord* record = record_of(self);
  return record == nullptr ? 0 : record->output_number();
}

void retain_grad(RunContext& context, const Tensor& self) { tape_of(context).retain_grad(self); }

Tensor detach_in_place(RunContext& context, const Tensor& self) {
  if (context.tape != nullptr) {
    context.tape->detach_in_place(self);
  } else {
    self.set_requires_grad(false);
  }
  return self;
}

Tensor set_requires_grad(RunContext& context, const Tensor& self, bool value) {
  if (context.tape != nullptr) {
    context.tape->set_requires_grad(self, value);
    return self;
  }
  require(!value || is_floating(self.dtype()) || is_complex(self.dtype()),
          ErrorCode::kInvalidArgument,
          "only Tensors of floating point dtype can require gradients");
  self.set_requires_grad(value);
  return self;
}

// The tensor keeps its identity, flag and gradient, and takes the other one's data.
void set_data(const Tensor& self, const Tensor& data) {
  TensorImpl& target = *self.impl();
  require(is_floating(target.dtype) == is_floating(data.dtype()) || !target.requires_grad,
          ErrorCode::kInvalidArgument,
          "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
          "incompatible tensor type.");
  target.storage = data.storage();
  target.dtype = data.dtype();
  self.set_geometry(data.sizes(), data.strides(), data.offset());
}

}  // namespace tierup::ops::gradients
