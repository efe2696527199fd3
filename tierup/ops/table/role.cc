// The one table of roles, sorted by name.
#include "tierup/ops/table/role.h"

#include <algorithm>
#include <array>

namespace tierup::ops {
namespace {

struct NamedRole {
  std::string_view name;
  Role role;
};
constexpr auto kRoles = std::to_array<NamedRole>({
    {"aten::__getitem__.t", Role::kListItem},
    {"aten::__is__", Role::kIs},
    {"aten::__isnot__", Role::kIsNot},
    {"aten::__not__", Role::kNot},
    {"aten::_log_softmax", Role::kRows},
    {"aten::_nested_tensor_from_mask", Role::kRagged},
    {"aten::_safe_softmax", Role::kRows},
    {"aten::_softmax", Role::kRows},
    {"aten::_unwrap_optional", Role::kUnwrapOptional},
    {"aten::add.Tensor", Role::kArithmetic},
    {"aten::alias", Role::kRearrangement},
    {"aten::all.dim", Role::kRows},
    {"aten::amax", Role::kRows},
    {"aten::amin", Role::kRows},
    {"aten::aminmax", Role::kRows},
    {"aten::any.dim", Role::kRows},
    {"aten::append.t", Role::kAppend},
    {"aten::argmax", Role::kRows},
    {"aten::argmin", Role::kRows},
    {"aten::chunk", Role::kParts},
    {"aten::cummax", Role::kRows},
    {"aten::cummin", Role::kRows},
    {"aten::cumprod", Role::kRows},
    {"aten::cumsum", Role::kRows},
    {"aten::dim", Role::kRank},
    {"aten::div.Tensor", Role::kArithmetic},
    {"aten::divide.Tensor", Role::kArithmetic},
    {"aten::eq.int", Role::kEqual},
    {"aten::expand", Role::kExpand},
    {"aten::flatten.using_ints", Role::kFlatten},
    {"aten::gather", Role::kRows},
    {"aten::gru.input", Role::kRecurrent},
    {"aten::gru_cell", Role::kRecurrent},
    {"aten::gt.int", Role::kGreater},
    {"aten::layer_norm", Role::kRows},
    {"aten::len.t", Role::kListLength},
    {"aten::linalg_vector_norm", Role::kRows},
    {"aten::linear", Role::kLinear},
    {"aten::log_softmax.int", Role::kRows},
    {"aten::logsumexp", Role::kRows},
    {"aten::lstm.data", Role::kRecurrent},
    {"aten::lstm.input", Role::kRecurrent},
    {"aten::lstm_cell", Role::kRecurrent},
    {"aten::matmul", Role::kMatmul},
    {"aten::max.dim", Role::kRows},
    {"aten::mean.dim", Role::kRows},
    {"aten::min.dim", Role::kRows},
    {"aten::mm", Role::kMatmul},
    {"aten::movedim.int", Role::kRearrangement},
    {"aten::mul.Tensor", Role::kArithmetic},
    {"aten::multiply.Tensor", Role::kArithmetic},
    {"aten::narrow", Role::kRearrangement},
    {"aten::native_layer_norm", Role::kRows},
    {"aten::ne.int", Role::kNotEqual},
    {"aten::norm.ScalarOpt_dim", Role::kRows},
    {"aten::permute", Role::kRearrangement},
    {"aten::prod.dim_int", Role::kRows},
    {"aten::reshape", Role::kView},
    {"aten::rms_norm", Role::kRows},
    {"aten::rnn_relu.input", Role::kRecurrent},
    {"aten::rnn_relu_cell", Role::kRecurrent},
    {"aten::rnn_tanh.input", Role::kRecurrent},
    {"aten::rnn_tanh_cell", Role::kRecurrent},
    {"aten::select.int", Role::kSelect},
    {"aten::size", Role::kSizes},
    {"aten::size.int", Role::kSize},
    {"aten::slice.Tensor", Role::kSlice},
    {"aten::softmax.int", Role::kRows},
    {"aten::split", Role::kParts},
    {"aten::split.Tensor", Role::kParts},
    {"aten::split.sizes", Role::kParts},
    {"aten::split_with_sizes", Role::kParts},
    {"aten::squeeze.dim", Role::kRearrangement},
    {"aten::std.correction", Role::kRows},
    {"aten::std.dim", Role::kRows},
    {"aten::std_mean.correction", Role::kRows},
    {"aten::std_mean.dim", Role::kRows},
    {"aten::sub.Tensor", Role::kArithmetic},
    {"aten::subtract.Tensor", Role::kArithmetic},
    {"aten::sum.dim_IntList", Role::kRows},
    {"aten::swapaxes", Role::kRearrangement},
    {"aten::t", Role::kRearrangement},
    {"aten::transpose.int", Role::kTranspose},
    {"aten::true_divide.Tensor", Role::kArithmetic},
    {"aten::unbind.int", Role::kUnbind},
    {"aten::unflatten.int", Role::kRearrangement},
    {"aten::unsqueeze", Role::kRearrangement},
    {"aten::var.correction", Role::kRows},
    {"aten::var.dim", Role::kRows},
    {"aten::var_mean.correction", Role::kRows},
    {"aten::var_mean.dim", Role::kRows},
    {"aten::view", Role::kView},
    {"prim::dtype", Role::kElementType},
    {"tierup::fusion_group", Role::kFusionGroup},
    {"tierup::neural_net", Role::kNeuralNet},
    {"tierup::neural_nets", Role::kNeuralNet},
});
static_assert(std::is_sorted(kRoles.begin(), kRoles.end(),
                             [](const NamedRole& a, const NamedRole& b) {
                               return a.name < b.name;
                             }));

}  // namespace

Role role_of(std::string_view qualified_name) {
  const auto found = std::lower_bound(
      kRoles.begin(), kRoles.end(), qualified_name,
      [](const NamedRole& entry, std::string_view name) { return entry.name < name; });
  return found != kRoles.end() && found->name == qualified_name ? found->role : Role::kNone;
}

std::string_view operator_with(Role role) {
  return std::find_if(kRoles.begin(), kRoles.end(),
                      [&](const NamedRole& entry) { return entry.role == role; })
      ->name;
}

}  // namespace tierup::ops
