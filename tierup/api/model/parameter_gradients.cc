#include "tierup/api/model/parameter_gradients.h"

#include "tierup/autodiff/accumulate.h"
#include "tierup/base/error.h"
#include "tierup/frontend/exported/joint_program.h"
#include "tierup/frontend/torchscript/module_loader.h"

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

Tensor take_joint_gradients(const Model& model, const IValue& result) {
  const frontend::exported::ExportedProgram* program = model.exported();
  require(program != nullptr && program->out_spec.type == frontend::exported::kJointResult,
          ErrorCode::kInvalidArgument,
          "the model is no joint program: its calls give no gradients; record them and run "
          "backward instead");
  ops::RunContext context;
  const auto& items = result.to_tuple().items;
  for (const auto& named : frontend::torchscript::named_tensors(*model.root())) {
    const IValue* gradient = items[1].to_dict().find(IValue(named.name));
    if (gradient != nullptr && gradient->is_tensor()) {
      autodiff::accumulate(*named.tensor.impl(), gradient->to_tensor(), context);
    }
  }
  return items[0].to_tensor();
}

}  // namespace tierup::api
