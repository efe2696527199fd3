#include "tierup/api/public/grad_scope.h"

#include <map>

#include "tierup/autodiff/node.h"

namespace tierup::v1 {
namespace {

// The innermost scope: each holds the one around it.
thread_local const GradScope* innermost = nullptr;

// How often a value refers to each of its tensors.
using References = std::map<TensorImpl*, uint32_t>;

void count_references(const IValue& value, References& found) {
  if (TensorImpl* tensor = value.tensor_impl()) {
    ++found[tensor];
  } else if (value.is_list()) {
    for (const IValue& item : value.to_list().items) count_references(item, found);
  } else if (value.is_tuple()) {
    for (const IValue& item : value.to_tuple().items) count_references(item, found);
  } else if (value.is_dict()) {
    for (const auto& [key, item] : value.to_dict().entries()) count_references(item, found);
  }
}

}  // namespace

GradScope::GradScope(GradMode mode) noexcept : mode_(mode), outer_(innermost) { innermost = this; }
GradScope::~GradScope() { innermost = outer_; }

std::optional<GradMode> scoped_grad_mode() {
  return innermost == nullptr ? std::nullopt : std::optional(innermost->mode());
}

IValue leaving_scope(IValue result) {
  if (scoped_grad_mode() != GradMode::kInference) return result;
  References tensors;
  count_references(result, tensors);
  std::map<Storage*, uint32_t> views;
  for (const auto& [tensor, count] : tensors) {
    if (tensor->use_count() == count) ++views[tensor->storage.get()];
  }
  for (const auto& [tensor, count] : tensors) {
    const auto found = views.find(tensor->storage.get());
    if (found == views.end() || tensor->storage->use_count() != found->second) continue;
    autodiff::leaf_record(*tensor).set_inference();
  }
  return result;
}

}  // namespace tierup::v1
