#include "tierup/api/model/parameter_gradients.h"

#include "tierup/autodiff/accumulate.h"

namespace tierup::api {

Tensor gradient_of(const Tensor& leaf) {
  const autodiff::Record* record = autodiff::record_of(*leaf.impl());
  return record == nullptr ? Tensor() : record->grad();
}

std::vector<Tensor> gradients_of(const std::vector<Tensor>& leaves) {
  std::vector<Tensor> result;
  for (const Tensor& leaf : leaves) result.push_back(gradient_of(leaf));
  return result;
}

void clear_gradients(const std::vector<Tensor>& leaves) {
  for (const Tensor& leaf : leaves) autodiff::assign_grad(leaf, Tensor());
}

}  // namespace tierup::api
