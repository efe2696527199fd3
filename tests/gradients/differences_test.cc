// Gradients against finite differences, in float64, over the recorded cases' own arguments.
//
// Along one direction v for each case: the difference quotient of the weighted sum of all results
// against <gradient, v>, and that of <gradient, u> against the second order's <H u, v>. Where two
// step widths disagree the point is no smooth one (a kink, a tie), and says nothing.
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>

#include "tierup/archive/safetensors.h"
#include "tierup/autodiff/recording_tape.h"
#include "tierup/base/error.h"
#include "tierup/cases/case_tree.h"
#include "tierup/cases/tree_reader.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/derivative.h"
#include "tierup/ops/table/op_table.h"

namespace tierup {
namespace {

using simdjson::dom::element;

constexpr double kSteps[] = {1e-5, 2e-5};
constexpr double kTolerance = 1e-4;

// A number in [-1, 1) for element i of tensor k: fixed, and alike for no two.
double spread(int64_t i, int64_t k) {
  const double x = std::sin(static_cast<double>(i + 1) * 12.9898 + static_cast<double>(k) * 78.233);
  return 2 * (x * 43758.5453 - std::floor(x * 43758.5453)) - 1;
}

Tensor direction(const Tensor& like, int64_t k) {
  const Tensor v = Tensor::empty(like.sizes(), ScalarType::kDouble);
  for (int64_t i = 0; i < v.numel(); ++i) v.data<double>()[i] = spread(i, k);
  return v;
}

double inner(const Tensor& a, const Tensor& b) {
  const Tensor x = kernels::contiguous(a);
  double sum = 0;
  for (int64_t i = 0; i < x.numel(); ++i) sum += x.data<double>()[i] * b.data<double>()[i];
  return sum;
}

Tensor moved(const Tensor& x, const Tensor& v, double step) {
  const Tensor from = kernels::contiguous(x);
  const Tensor to = Tensor::empty(x.sizes(), ScalarType::kDouble);
  for (int64_t i = 0; i < to.numel(); ++i)
    to.data<double>()[i] = from.data<double>()[i] + step * v.data<double>()[i];
  return to;
}

// One call of an operator as a function of its float64 tensors.
class Function {
 public:
  Function(const ops::Op& op, std::vector<IValue> args) : op_(op), args_(std::move(args)) {
    for (IValue& arg : args_) note(arg);
    moves_.assign(points_.size(), true);
    context_.tape = &tape_;
    context_.generator = &generator_;
    context_.warn = [](const std::string&) {};
  }
  // Moves from now on only what has a gradient: statistics and truths are none's business.
  void keep_still(const std::vector<Tensor>& gradients) {
    for (size_t k = 0; k < gradients.size(); ++k) moves_[k] = gradients[k].defined();
  }
  size_t count() const { return points_.size(); }
  const Tensor& point(size_t k) const { return points_[k]; }

  struct Value {
    double sum = 0;                 // Of all results, weighted.
    std::vector<Tensor> gradients;  // By input; undefined: none.
    std::vector<Tensor> inputs;     // What they are the gradients of.
  };
  // At the point moved by `step` along the directions.
  Value at(double step, bool wants_gradients, bool again = false) {
    context_.policy.grad_mode = wants_gradients;
    Value value;
    for (size_t k = 0; k < points_.size(); ++k) {
      value.inputs.push_back(
          moved(points_[k], direction(points_[k], static_cast<int64_t>(k)), moves_[k] ? step : 0));
      value.inputs.back().set_requires_grad(wants_gradients);
    }
    std::vector<IValue> args;
    size_t next = 0;
    for (const IValue& arg : args_) args.push_back(filled(arg, value.inputs, next));
    std::vector<IValue> results(op_.schema().returns.size());
    ops::OpCall call{args, results, context_};
    tape_.call(op_, call, nullptr);
    ops::BackwardRequest request;
    int64_t k = 100;
    for (const IValue& result : results) add(result, value, request, k);
    if (!wants_gradients) return value;
    request.inputs = value.inputs;
    request.create_graph = again;
    request.allow_unused = true;
    if (request.outputs.empty()) {
      value.gradients.resize(points_.size());
    } else {
      value.gradients = tape_.grad(context_, request);
    }
    return value;
  }
  // The derivative of <gradients, u> by the inputs, u the directions.
  std::vector<Tensor> second(const Value& value) {
    ops::BackwardRequest request;
    for (size_t k = 0; k < value.gradients.size(); ++k) {
      const Tensor& g = value.gradients[k];
      if (!g.defined() || !g.requires_grad()) continue;
      request.outputs.push_back(g);
      request.cotangents.push_back(direction(g, static_cast<int64_t>(k) + 7));
    }
    if (request.outputs.empty()) return std::vector<Tensor>(points_.size());
    request.inputs = value.inputs;
    request.allow_unused = true;
    std::vector<Tensor> made = tape_.grad(context_, request);
    for (size_t k = 0; k < made.size(); ++k)
      if (!moves_[k]) made[k] = Tensor();
    return made;
  }

 private:
  static bool is_point(const IValue& value) {
    return value.is_tensor() && value.to_tensor().dtype() == ScalarType::kFloat;
  }
  void note(IValue& value) {
    if (is_point(value)) {
      points_.push_back(kernels::to_dtype(value.to_tensor(), ScalarType::kDouble));
    } else if (value.is_list()) {
      for (IValue& item : value.to_list().items) note(item);
    }
  }
  static IValue filled(const IValue& value, const std::vector<Tensor>& inputs, size_t& next) {
    if (is_point(value)) return inputs[next++];
    if (!value.is_list()) return value;
    auto list = make_ref<ListValue>(value.to_list().element);
    for (const IValue& item : value.to_list().items)
      list->items.push_back(filled(item, inputs, next));
    return list;
  }
  void add(const IValue& result, Value& value, ops::BackwardRequest& request, int64_t& k) {
    if (result.is_list()) {
      for (const IValue& item : result.to_list().items) add(item, value, request, k);
    }
    if (!result.is_tensor() || result.to_tensor().dtype() != ScalarType::kDouble) return;
    const Tensor output = result.to_tensor();
    const Tensor weights = direction(output, ++k);
    if (context_.policy.grad_mode) {
      if (!output.requires_grad()) return;
      counted_.insert(k);
      request.outputs.push_back(output);
      request.cotangents.push_back(weights);
    }
    if (counted_.contains(k)) value.sum += inner(output.detach(), weights);
  }

  const ops::Op& op_;
  std::vector<IValue> args_;
  std::vector<Tensor> points_;
  std::vector<bool> moves_;
  std::set<int64_t> counted_;  // Results that require gradients.
  autodiff::RecordingTape tape_;
  kernels::Generator generator_;
  ops::RunContext context_;
};

double along(const std::vector<Tensor>& gradients, const Function& f) {
  double sum = 0;
  for (size_t k = 0; k < gradients.size(); ++k) {
    if (!gradients[k].defined()) continue;
    sum += inner(gradients[k].detach(), direction(f.point(k), static_cast<int64_t>(k)));
  }
  return sum;
}
double with_second_directions(const Function::Value& value) {
  double sum = 0;
  for (size_t k = 0; k < value.gradients.size(); ++k) {
    const Tensor& g = value.gradients[k];
    if (g.defined()) sum += inner(g.detach(), direction(g, static_cast<int64_t>(k) + 7));
  }
  return sum;
}

// A difference quotient, if two step widths agree on it.
template <typename F>
std::optional<double> quotient(const F& f) {
  double found[2];
  for (int i = 0; i < 2; ++i) found[i] = (f(kSteps[i]) - f(-kSteps[i])) / (2 * kSteps[i]);
  const double scale = 1 + std::abs(found[0]);
  if (!(std::abs(found[0] - found[1]) <= 1e-5 * scale)) return std::nullopt;
  return found[0];
}

bool agrees(double quotient, double derivative) {
  return std::abs(quotient - derivative) <= kTolerance * (1 + std::abs(quotient));
}

bool is_unknown(const Error& error) {
  const std::string_view text = error.what();
  return text.find("not implemented") != std::string_view::npos;
}

struct Counts {
  int first = 0;
  int second = 0;
  int rough = 0;
};

// What disagrees; empty if nothing does.
std::string compare(const ops::Op& op, std::vector<IValue> args, Counts& counts) {
  Function f(op, std::move(args));
  if (f.count() == 0) return {};
  const Function::Value value = f.at(0, true, true);
  bool flows = false;
  for (const Tensor& g : value.gradients) flows = flows || g.defined();
  if (!flows) return {};
  f.keep_still(value.gradients);
  const auto first = quotient([&](double step) { return f.at(step, false).sum; });
  if (!first) {
    ++counts.rough;
    return {};
  }
  ++counts.first;
  const double derivative = along(value.gradients, f);
  if (!agrees(*first, derivative))
    return fmt::format("first order: {} by differences, {}", *first, derivative);
  const auto second =
      quotient([&](double step) { return with_second_directions(f.at(step, true)); });
  if (!second) return {};
  std::vector<Tensor> curvature;
  try {
    curvature = f.second(value);
  } catch (const Error& error) {
    return is_unknown(error) ? "" : fmt::format("second order: {}", error.what());
  }
  ++counts.second;
  const double curved = along(curvature, f);
  if (!agrees(*second, curved))
    return fmt::format("second order: {} by differences, {}", *second, curved);
  return {};
}

bool writes(const ops::Op& op) { return op.derivative()->writes || op.derivative()->is_out; }

// Operators whose gradient is by convention no derivative of what they compute.
const std::set<std::string> kBeyond = {
    "aten::cosine_embedding_loss",  // Its target is a truth, kept as a number.
    "aten::hinge_embedding_loss",   // The same.
    "aten::embedding",              // The padding row gets nothing; counts divide.
    "aten::max_unpool2d",           // Of two elements at one place, both get its gradient.
    "aten::native_group_norm",      // One statistic passes on nothing where the result does.
    "aten::instance_norm",          // Writes statistics, which are leaves here.
};

std::vector<IValue> arguments(element recorded, const ops::Op& op, api::CaseTensors& tensors) {
  const api::TreeReader reader(tensors);
  std::vector<IValue> args;
  simdjson::dom::array positional = recorded["args"];
  size_t i = 0;
  for (element tree : positional)
    args.push_back(reader.read(tree, op.schema().arguments[i++].type));
  for (; i < op.schema().arguments.size(); ++i) {
    const ir::Argument& argument = op.schema().arguments[i];
    element tree;
    if (recorded["kwargs"][argument.name].get(tree) == simdjson::SUCCESS) {
      args.push_back(reader.read(tree, argument.type));
    } else {
      args.push_back(argument.default_value.value_or(IValue()));
    }
  }
  return args;
}

TEST(FiniteDifferences, AgreeWithGradientsOfFirstAndSecondOrder) {
  Counts counts;
  std::set<std::string> operators;
  for (const auto& entry : std::filesystem::directory_iterator("tests/data/ops")) {
    if (entry.path().extension() != ".safetensors") continue;
    const archive::Safetensors file = archive::Safetensors::open(entry.path().string());
    const std::string& schema = file.metadata().at("schema");
    const std::string name = schema.substr(0, schema.find('('));
    const ops::Op* op = ops::OpTable::instance().find(name);
    if (op == nullptr || op->kernel() == nullptr || writes(*op) || kBeyond.contains(name)) continue;
    const ops::DerivativeKind kind = op->derivative()->kind;
    if (kind != ops::DerivativeKind::kFormula && kind != ops::DerivativeKind::kDecomposition)
      continue;
    if (op->has_effect(ir::kRandom)) continue;
    simdjson::dom::parser parser;
    simdjson::dom::array cases = parser.parse(file.metadata().at("cases"));
    for (element recorded : cases) {
      if (std::string_view(recorded["dtype"]) != "float32") continue;
      bool ambiguous = false;
      if (recorded["ambiguous"].get(ambiguous) == simdjson::SUCCESS && ambiguous) continue;
      element error;
      if (recorded["error"].get(error) == simdjson::SUCCESS) continue;
      api::CaseTensors tensors([&](std::string_view t) { return file.tensor(t); });
      const std::string label = fmt::format("{} case {}", name, int64_t{recorded["id"]});
      try {
        const std::string difference = compare(*op, arguments(recorded, *op, tensors), counts);
        EXPECT_EQ(difference, "") << label;
        operators.insert(name);
      } catch (const Error& failure) {
        if (is_unknown(failure) || failure.code() == ErrorCode::kInvalidArgument) continue;
        ADD_FAILURE() << label << ": " << failure.what();
      }
    }
  }
  std::printf("%zu operators; first order %d, second order %d, not smooth %d\n", operators.size(),
              counts.first, counts.second, counts.rough);
  EXPECT_GT(counts.first, 500);
  EXPECT_GT(counts.second, 300);
}

}  // namespace
}  // namespace tierup
