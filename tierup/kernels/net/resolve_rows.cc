// Functions and other point-wise operators, rolls and RMS normalisation; see resolver.h.
#include <algorithm>
#include <limits>

#include "tierup/kernels/net/resolver.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels::net {

int Resolver::function(int input, Body body) {
  Layer& layer =
      add(LayerKind::kFunction, {input}, IntVector(net_.values[static_cast<size_t>(input)].sizes));
  layer.formula = {{body, {FormulaOperand{}}}};
  return layer.output;
}

std::optional<std::vector<std::variant<int, float>>> Resolver::operands() {
  std::vector<std::variant<int, float>> result;
  size_t rank = 0;  // Of the values.
  for (size_t i = 0; i < op_->args.size(); ++i)
    if (is_value(i)) rank = std::max(rank, sizes(value(i)).size());
  for (const auto& operand : op_->pointwise.operands) {
    const auto* argument = std::get_if<size_t>(&operand);
    if (argument == nullptr) {
      result.emplace_back(std::get<float>(operand));
    } else if (is_value(*argument)) {
      if (!is_float(value(*argument))) return std::nullopt;
      result.emplace_back(value(*argument));
    } else {
      const Tensor tensor = constant(*argument);
      if (!tensor.defined() || is_complex(tensor.dtype())) return std::nullopt;
      const bool is_number = tensor.dim() == 0 || (is_dense_float(tensor) && tensor.numel() == 1 &&
                                                   static_cast<size_t>(tensor.dim()) <= rank);
      if (is_number) {
        const IValue number(reshape(tensor, {}));
        result.emplace_back(static_cast<float>(number.to_scalar().to_double()));
      } else if (is_dense_float(tensor)) {
        result.emplace_back(add_constant(tensor));
      } else {
        return std::nullopt;
      }
    }
  }
  return result;
}

// Of operands as large as the result: others are repeated.
bool Resolver::pointwise() {
  std::optional<std::vector<std::variant<int, float>>> given = operands();
  if (!given || given->empty()) return false;
  std::optional<IntVector> out;
  bool has_whole = false;
  for (const auto& operand : *given) {
    if (const int* id = std::get_if<int>(&operand)) {
      const IntSpan own = sizes(*id);
      out = out ? broadcast_shapes(*out, own) : IntVector(own.begin(), own.end());
    }
  }
  if (!out || numel_of(*out) == 0) return false;
  FormulaStep step{op_->pointwise.body, {}};
  std::vector<int> inputs;
  for (auto& operand : *given) {
    int* id = std::get_if<int>(&operand);
    if (id == nullptr) {
      step.operands.push_back({FormulaOperand::Kind::kNumber, 0, std::get<float>(operand)});
      continue;
    }
    if (std::ranges::equal(sizes(*id), *out)) {
      has_whole = true;
    } else {
      *id = expanded(*id, *out);
    }
    const auto found = std::ranges::find(inputs, *id);
    step.operands.push_back(
        {FormulaOperand::Kind::kInput, static_cast<uint32_t>(found - inputs.begin()), 0});
    if (found == inputs.end()) inputs.push_back(*id);
  }
  require_compiled(has_whole || is_no_larger(*out), NetRefusal::kBothBroadcast);
  Layer& layer = add(LayerKind::kFunction, inputs, *out);
  layer.formula = {std::move(step)};
  return set(layer.output);
}

// Two parts of each dimension change places.
bool Resolver::roll() {
  const IntVector shifts = ints(1);
  const IntVector dims = ints(2);
  int rolled = value(0);
  const auto rank = static_cast<int64_t>(sizes(rolled).size());
  constexpr size_t kMostDims = kLayersOfOperator / 3;  // Each takes two slices and a join.
  if (dims.empty() || shifts.size() != dims.size() || dims.size() > kMostDims || rank == 0 ||
      numel_of(sizes(rolled)) == 0) {
    return false;
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    const auto axis = static_cast<size_t>(wrap_dim(dims[i], rank));
    const int64_t size = sizes(rolled)[axis];
    const int64_t shift = (shifts[i] % size + size) % size;
    if (shift == 0) continue;
    const int last = slice(rolled, axis, size - shift, shift);
    const int first = slice(rolled, axis, 0, size - shift);
    Layer& layer =
        add(LayerKind::kCat, {last, first}, IntVector(sizes(rolled).begin(), sizes(rolled).end()));
    layer.axis = axis;
    rolled = layer.output;
  }
  return set(rolled);
}

bool Resolver::rms_norm() {
  const IntVector in(sizes(value(0)).begin(), sizes(value(0)).end());
  const IntVector shape = ints(1);
  const Tensor weight = constant(2);
  if (in.empty() || shape.size() != 1 || shape[0] != in.back() || shape[0] == 0) return false;
  if (!plain(2).is_none() &&
      (!is_dense_float(weight) || weight.dim() != 1 || weight.numel() != shape[0])) {
    return false;
  }
  Layer& layer = add(LayerKind::kRmsNorm, {value(0)}, in);
  layer.eps = number(3, static_cast<double>(std::numeric_limits<float>::epsilon()));
  if (weight.defined()) {
    for (int64_t i = 0; i < weight.numel(); ++i)
      layer.scale.push_back(static_cast<float>(element(weight, static_cast<size_t>(i))));
  }
  return set(layer.output);
}

}  // namespace tierup::kernels::net
