#include "tierup/autodiff/call_gradients.h"

#include "tierup/kernels/random/generator.h"

namespace tierup::autodiff {
namespace {

void mark_wanted(RecordedValue& value) {
  if (value.elements) {
    for (RecordedValue& item : *value.elements) {
      mark_wanted(item);
      value.wants_grad |= item.wants_grad;
    }
  } else if (value.kind == RecordedValue::Kind::kTensor) {
    value.wants_grad = is_floating(value.dtype) || is_complex(value.dtype);
  }
}

void save(RecordedValue& recorded, const IValue& value) {
  if (recorded.elements) {
    const auto& items = value.to_list().items;
    for (size_t i = 0; i < items.size(); ++i) save((*recorded.elements)[i], items[i]);
  } else if (recorded.is_read && value.is_tensor()) {
    recorded.saved = SavedTensor(value.to_tensor());
  }
}

void differentiate(RecordedCall& recorded, const std::vector<IValue>& cotangents,
                   ops::RunContext& context, CallGradients& done) {
  std::vector<Tensor> tensors(done.results.size());
  std::vector<std::vector<Tensor>> elements(done.results.size());
  for (size_t k = 0; k < cotangents.size(); ++k) {
    if (cotangents[k].is_list()) {
      for (const IValue& item : cotangents[k].to_list().items) {
        elements[k].push_back(item.to_tensor());
      }
    } else if (cotangents[k].is_tensor()) {
      tensors[k] = cotangents[k].to_tensor();
    }
  }
  EagerBuilder builder(recorded, context);
  const GivenGradients given = builder.run_formula(tensors, elements);
  for (size_t i = 0; i < recorded.args.size(); ++i) {
    IValue gradient = given.by_argument[i];
    for (const auto& [index, list] : given.by_element) {
      if (index == i) gradient = make_tensor_list(list);
    }
    done.gradients.push_back(std::move(gradient));
  }
}

}  // namespace

CallGradients differentiate_call(const ops::Op& op, std::vector<IValue> args,
                                 const std::vector<bool>& wants,
                                 const std::vector<IValue>& cotangents) {
  ops::RunContext context;
  kernels::Generator generator;
  context.generator = &generator;
  CallGradients done;
  done.results.resize(op.schema().returns.size());
  RecordedCall recorded(op, args);
  for (size_t i = 0; i < args.size(); ++i) {
    if (wants.empty() || wants[i]) mark_wanted(recorded.args[i]);
  }
  const std::vector<IValue> held = args;
  std::vector<IValue> before;
  for (const IValue& arg : held) before.push_back(deep_copy(arg));
  if (op.derivative()->kind == ops::DerivativeKind::kDecomposition) {
    for (RecordedValue& value : recorded.args) value.is_read = true;
    for (size_t i = 0; i < args.size(); ++i) save(recorded.args[i], held[i]);
    EagerBuilder(recorded, context).run_decomposition(done.results);
    return done;
  }
  ops::OpCall call{args, done.results, context};
  op.kernel()(call);
  recorded.note_results(done.results);
  probe_formula(recorded);
  const auto& schema = op.schema().arguments;
  for (size_t i = 0; i < args.size(); ++i) {
    const bool is_written = schema[i].alias.is_write;
    save(recorded.args[i], is_written ? before[i] : held[i]);
  }
  for (size_t k = 0; k < done.results.size(); ++k) {
    save(recorded.results[k], done.results[k]);
  }
  differentiate(recorded, cotangents, context, done);
  return done;
}

}  // namespace tierup::autodiff
