// Model as the Executor serves it: flat runs, generations of weights, frames.
#include "tierup/api/model/generation.h"
#include "tierup/api/model/model.h"
#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/frontend/exported/flat_signature.h"

namespace tierup::api {
namespace {

RunOptions run_options(const executor::RunLimits& limits) {
  RunOptions options;
  options.cancelled = limits.cancelled;
  options.deadline = limits.deadline;
  options.outputs = limits.outputs;
  options.on_poll = limits.on_poll;
  return options;
}

void append_leaves(const IValue& value, std::vector<IValue>& leaves) {
  switch (value.tag()) {
    case IValue::Tag::kList:
      for (const IValue& item : value.to_list().items) append_leaves(item, leaves);
      return;
    case IValue::Tag::kTuple:
      for (const IValue& item : value.to_tuple().items) append_leaves(item, leaves);
      return;
    case IValue::Tag::kDict:
      for (const auto& [key, item] : value.to_dict().entries()) append_leaves(item, leaves);
      return;
    default: leaves.push_back(value);
  }
}

}  // namespace

IValue Model::serve(std::vector<IValue> args, NamedValues kwargs,
                    const executor::RunLimits& limits) const {
  return call(std::move(args), std::move(kwargs), run_options(limits));
}

std::vector<IValue> Model::serve_flat(std::vector<IValue> leaves,
                                      const executor::RunLimits& limits) const {
  std::vector<IValue> results;
  if (!exported_) {
    append_leaves(call(std::move(leaves), {}, run_options(limits)), results);
    return results;
  }
  std::vector<IValue> args = exported_->check_leaves(std::move(leaves));
  args.insert(args.begin(), IValue(root()));
  return frontend::exported::flat_outputs(
      execute(*entry("forward").graph, std::move(args), run_options(limits)));
}

Ref<executor::Servable> Model::with_weights(const archive::NamedTensors& weights,
                                            bool strict) const {
  return Ref<executor::Servable>(new Model(*this, clone_with_weights(root(), weights, strict)));
}

void Model::prepare_like(const executor::Servable& older) const {
  const auto& other = static_cast<const Model&>(older);  // with_weights() makes no other kind.
  const ThreadCountScope threads(options_.threads);  // As calls have it: kernels are made for it.
  for (size_t i = 0; i < methods_.size(); ++i) methods_[i].graph->adopt(*other.methods_[i].graph);
}

size_t Model::idle_frames() const { return program_->kept_frames() + tiered_->kept_frames(); }
size_t Model::trim_frames() const { return program_->trim_frames() + tiered_->trim_frames(); }

}  // namespace tierup::api
