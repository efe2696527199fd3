#include "tierup/api/model/checkpointed_call.h"

#include "tierup/autodiff/checkpoint.h"
#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup::api {
namespace {

// The value with what `change` makes of each tensor in its lists, tuples and dictionaries.
template <typename F>
IValue with_tensors(const IValue& value, F& change) {
  if (value.is_tensor()) return IValue(change(value.to_tensor()));
  std::vector<IValue> items;
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) items.push_back(with_tensors(item, change));
    return make_ref<ListValue>(value.to_list().element, std::move(items));
  }
  if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) items.push_back(with_tensors(item, change));
    auto tuple = make_ref<TupleValue>(std::move(items));
    tuple->named = value.to_tuple().named;
    return tuple;
  }
  if (value.is_dict()) {
    const DictValue& old = value.to_dict();
    auto dict = make_ref<DictValue>(old.key, old.value);
    for (const auto& [key, item] : old.entries()) dict->set(key, with_tensors(item, change));
    return dict;
  }
  return value;
}

// The call's tensors, in the order of its arguments; the same for what it gave.
std::vector<Tensor> tensors_of(const CheckpointedCall& call) {
  std::vector<Tensor> found;
  auto note = [&](const Tensor& tensor) {
    found.push_back(tensor);
    return tensor;
  };
  for (const IValue& arg : call.args) with_tensors(arg, note);
  for (const auto& [name, arg] : call.kwargs) with_tensors(arg, note);
  return found;
}
std::vector<Tensor> tensors_of(const IValue& value) {
  std::vector<Tensor> found;
  auto note = [&](const Tensor& tensor) {
    found.push_back(tensor);
    return tensor;
  };
  with_tensors(value, note);
  return found;
}

// The stream as it was before the call, for as long as this lives.
class RewoundStream {
 public:
  RewoundStream(kernels::Generator& generator, const std::string& state)
      : generator_(generator), now_(state.empty() ? std::string() : generator.state()) {
    if (!state.empty()) generator_.set_state(state);
  }
  ~RewoundStream() {
    if (!now_.empty()) generator_.set_state(now_);
  }
  RewoundStream(const RewoundStream&) = delete;
  RewoundStream& operator=(const RewoundStream&) = delete;

 private:
  kernels::Generator& generator_;
  std::string now_;
};

IValue make(const CheckpointedCall& call, bool gradients) {
  RunOptions options = call.options;
  options.gradients = gradients;
  return call.method == "forward" ? call.model->call(call.args, call.kwargs, options)
                                  : call.model->run(call.method, call.args, call.kwargs, options);
}

std::vector<Tensor> parameters_of(const Model& model) {
  std::vector<Tensor> found;
  for (const auto& named : frontend::torchscript::named_parameters(*model.root()))
    found.push_back(named.tensor);
  return found;
}

}  // namespace

IValue call_unrecorded(const CheckpointedCall& call) { return make(call, false); }

IValue call_checkpointed(CheckpointedCall call) {
  autodiff::CheckpointedPart part;
  part.name = "the checkpointed call of '" + call.method + "'";
  part.inputs = tensors_of(call);
  part.leaves = parameters_of(*call.model);
  const std::string stream =
      call.keeps_random_stream ? call.model->generator().state() : std::string();
  const IValue result = make(call, false);
  // A second run is nobody's business but the pass's.
  call.options.observer = nullptr;
  call.options.outputs = nullptr;
  part.rerun = [call = std::move(call), stream](const std::vector<Tensor>& inputs) {
    const RewoundStream rewound(call.model->generator(), stream);
    CheckpointedCall again = call;
    size_t next = 0;
    auto replaced = [&](const Tensor&) { return inputs[next++]; };
    for (IValue& arg : again.args) arg = with_tensors(arg, replaced);
    for (auto& [name, arg] : again.kwargs) arg = with_tensors(arg, replaced);
    return tensors_of(make(again, true));
  };
  const std::vector<Tensor> made = autodiff::record_checkpoint(std::move(part), tensors_of(result));
  size_t next = 0;
  auto replaced = [&](const Tensor&) { return made[next++]; };
  return with_tensors(result, replaced);
}

}  // namespace tierup::api
