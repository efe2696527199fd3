// Formulas that are one activation; see layers.h.
#include <algorithm>
#include <cmath>

#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/formula_finder.h"

namespace tierup::kernels::net {
namespace {

// 0.5 x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3)))
class GeluFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (!is_product(&layer)) continue;
      if (!match(layer, layer.inputs[0], layer.inputs[1]))
        match(layer, layer.inputs[1], layer.inputs[0]);
    }
    remove_dead();
  }

 private:
  static bool is_product(const Layer* layer) {
    return layer != nullptr && layer->kind == LayerKind::kBinary && layer->multiplies;
  }
  // value = alpha * x + beta: gives x, or -1.
  int line_of(int id, float alpha, float beta) {
    const Layer* layer = inner(id);
    if (layer == nullptr || layer->kind != LayerKind::kActivate ||
        layer->activation.function != Function::kLinear ||
        std::abs(layer->activation.alpha - alpha) > 1e-6F * std::abs(alpha) ||
        layer->activation.beta != beta) {
      return -1;
    }
    steps_.push_back(id);
    return layer->inputs[0];
  }
  bool is_cube(int id, int x) {
    const Layer* cube = inner(id);
    if (!is_product(cube) || cube->inputs[1] != x) return false;
    const Layer* square = inner(cube->inputs[0]);
    if (!is_product(square) || square->inputs[0] != x || square->inputs[1] != x) return false;
    steps_.push_back(id);
    steps_.push_back(cube->inputs[0]);
    return true;
  }

  bool match(Layer& layer, int half, int rest) {
    steps_.clear();
    const int x = line_of(half, 0.5F, 0);
    const int bent = x < 0 ? -1 : line_of(rest, 1, 1);
    const Layer* tanh = bent < 0 ? nullptr : inner(bent);
    if (tanh == nullptr || tanh->kind != LayerKind::kActivate ||
        tanh->activation.function != Function::kTanh) {
      return false;
    }
    steps_.push_back(bent);
    const int sum = line_of(tanh->inputs[0], std::sqrt(2.0F / static_cast<float>(M_PI)), 0);
    const Layer* add = sum < 0 ? nullptr : inner(sum);
    if (add == nullptr || add->kind != LayerKind::kBinary || add->multiplies) return false;
    steps_.push_back(sum);
    const size_t at = add->inputs[0] == x ? 1 : 0;
    if (add->inputs[1 - at] != x) return false;
    const int cube = line_of(add->inputs[at], 0.044715F, 0);
    if (cube < 0 || !is_cube(cube, x)) return false;
    layer.kind = LayerKind::kActivate;
    layer.inputs = {x};
    layer.activation = {Function::kGeluTanh};
    // The formula read it five times: the half, the sum, and three factors.
    net_.values[static_cast<size_t>(x)].uses -= 4;
    dead_.insert(dead_.end(), steps_.begin(), steps_.end());
    return true;
  }

  std::vector<int> steps_;
};

// x * rsqrt(mean(x * x) + eps), and a factor for each column after it.
class RmsNormFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (layer.kind == LayerKind::kBinary && layer.multiplies) match(layer);
      if (layer.kind == LayerKind::kAffine) take_factors(layer);
    }
    remove_dead();
  }

 private:
  void match(Layer& layer) {
    const int x = layer.inputs[0];
    const Layer* root = inner(layer.inputs[1], LayerKind::kFunction);
    const bool is_root = root != nullptr && root->body == Body::kRsqrt;
    const Layer* sum = is_root ? inner(root->inputs[0], LayerKind::kActivate) : nullptr;
    if (sum == nullptr || sum->activation.function != Function::kLinear ||
        sum->activation.alpha != 1) {
      return;
    }
    const Layer* mean = inner(sum->inputs[0], LayerKind::kRowMean);
    const Layer* square = mean == nullptr ? nullptr : inner(mean->inputs[0], LayerKind::kBinary);
    if (square == nullptr || !square->multiplies || square->inputs[0] != x ||
        square->inputs[1] != x) {
      return;
    }
    dead_.insert(dead_.end(), {root->output, sum->output, mean->output, square->output});
    layer.kind = LayerKind::kRmsNorm;
    layer.eps = static_cast<double>(sum->activation.beta);
    layer.inputs = {x};
    // The formula read it three times.
    net_.values[static_cast<size_t>(x)].uses -= 2;
  }

  void take_factors(Layer& layer) {
    const Layer* norm = inner(layer.inputs[0], LayerKind::kRmsNorm);
    const size_t rank = net_.values[static_cast<size_t>(layer.output)].sizes.size();
    if (norm == nullptr || !norm->scale.empty() || layer.axis + 1 != rank ||
        std::any_of(layer.shift.begin(), layer.shift.end(), [](float x) { return x != 0; })) {
      return;
    }
    dead_.push_back(norm->output);
    layer.kind = LayerKind::kRmsNorm;
    layer.eps = norm->eps;
    layer.inputs = norm->inputs;
    layer.shift.clear();
  }
};

// f(one half) * sigmoid(the other half), as WaveNet and gated convolutions have it.
class GateFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (layer.kind != LayerKind::kBinary || !layer.multiplies) continue;
      if (!match(layer, 0)) match(layer, 1);
    }
    remove_dead();
  }

 private:
  // `side`: the operand that is gated.
  bool match(Layer& layer, size_t side) {
    const Layer* sigmoid = inner(layer.inputs[1 - side], LayerKind::kActivate);
    if (sigmoid == nullptr || sigmoid->activation.function != Function::kSigmoid) return false;
    const Layer* function = inner(layer.inputs[side], LayerKind::kActivate);
    const Layer* first =
        inner(function != nullptr ? function->inputs[0] : layer.inputs[side], LayerKind::kSlice);
    const Layer* second = inner(sigmoid->inputs[0], LayerKind::kSlice);
    if (first == nullptr || second == nullptr || !are_halves(*first, *second)) return false;
    Layer alone;
    if (function != nullptr) alone.epilogue.push_back({-1, function->activation});
    if (!store_steps(alone)) return false;
    const int whole = first->inputs[0];
    dead_.insert(dead_.end(), {sigmoid->output, first->output, second->output});
    if (function != nullptr) {
      dead_.push_back(function->output);
      layer.gated = function->activation;
    }
    layer.kind = LayerKind::kGlu;
    layer.axis = first->axis;
    layer.inputs = {whole};
    --net_.values[static_cast<size_t>(whole)].uses;  // Each half read it.
    return true;
  }
  bool are_halves(const Layer& first, const Layer& second) const {
    const auto sizes = [&](int id) { return net_.values[static_cast<size_t>(id)].sizes; };
    const int64_t half = sizes(first.output)[first.axis];
    return first.inputs == second.inputs && first.axis == second.axis && first.step == 1 &&
           second.step == 1 && first.first == 0 && second.first == half &&
           sizes(first.inputs[0])[first.axis] == 2 * half &&
           sizes(second.output)[second.axis] == half;
  }
};

}  // namespace

void recognize(LayerNet& net) {
  GateFinder(net).run();
  GeluFinder(net).run();
  RmsNormFinder(net).run();
  recognize_attention(net);
}

}  // namespace tierup::kernels::net
