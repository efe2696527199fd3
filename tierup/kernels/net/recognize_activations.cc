// Activations that are written out, which then follow a convolution or product in its own loops.
#include <cmath>
#include <numbers>

#include "tierup/kernels/net/formula_finder.h"

namespace tierup::kernels::net {
namespace {

// A product with a function of one of its factors.
class ActivationFinder : protected FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;
  virtual ~ActivationFinder() = default;

  void run() {
    for (Layer& layer : net_.layers) {
      if (!is_product(&layer) || layer.inputs[0] == layer.inputs[1]) continue;
      for (size_t side = 0; side < 2 && is_product(&layer); ++side) {
        steps_.clear();
        match(layer, layer.inputs[side], layer.inputs[1 - side]);
      }
    }
    remove_dead();
  }

 protected:
  virtual void match(Layer& layer, int first, int second) = 0;

  // A factor and a summand of something: that, and the two. Else -1.
  int line_of(int id, float alpha, float beta) {
    const Layer* layer = inner(id, LayerKind::kActivate);
    const bool is_line = layer != nullptr && layer->activation.function == Function::kLinear &&
                         std::abs(layer->activation.alpha - alpha) <= 1e-6F * std::abs(alpha) &&
                         layer->activation.beta == beta;
    if (!is_line) return -1;
    steps_.push_back(id);
    return layer->inputs[0];
  }
  // The product becomes a function of x, which the formula has read so many times.
  void replace(Layer& layer, int x, Activation activation, int reads) {
    layer.kind = LayerKind::kActivate;
    layer.inputs = {x};
    layer.activation = activation;
    net_.values[static_cast<size_t>(x)].uses -= reads - 1;
    dead_.insert(dead_.end(), steps_.begin(), steps_.end());
  }

  std::vector<int> steps_;
};

// 0.5 x * (1 + erf(x / sqrt(2))), or 0.5 x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 x^3))); the
// half may stand with either factor.
class GeluFinder final : public ActivationFinder {
 public:
  using ActivationFinder::ActivationFinder;

 private:
  void match(Layer& layer, int first, int second) override {
    const int halved = line_of(first, 0.5F, 0);
    const int x = halved >= 0 ? halved : first;
    const int rest = halved >= 0 ? second : line_of(second, 0.5F, 0);
    const int bent = rest < 0 ? -1 : line_of(rest, 1, 1);
    if (bent < 0) return;
    if (is_erf(bent, x)) return replace(layer, x, {Function::kGeluErf}, 2);
    // The half, the sum and three factors.
    if (is_tanh(bent, x)) replace(layer, x, {Function::kGeluTanh}, 5);
  }

  bool is_erf(int id, int x) {
    const Layer* erf = inner(id);
    if (!is_function(erf, Body::kErf)) return false;
    steps_.push_back(id);
    return line_of(erf->inputs[0], 1 / std::numbers::sqrt2_v<float>, 0) == x;
  }
  bool is_tanh(int id, int x) {
    const Layer* tanh = inner(id, LayerKind::kActivate);
    if (tanh == nullptr || tanh->activation.function != Function::kTanh) return false;
    steps_.push_back(id);
    const float factor = std::sqrt(2 / std::numbers::pi_v<float>);
    const int sum = line_of(tanh->inputs[0], factor, 0);
    const Layer* add = sum < 0 ? nullptr : inner(sum);
    if (add == nullptr || add->kind != LayerKind::kBinary || add->multiplies) return false;
    steps_.push_back(sum);
    const size_t at = add->inputs[0] == x ? 1 : 0;
    if (add->inputs[1 - at] != x) return false;
    const int cube = line_of(add->inputs[at], 0.044715F, 0);
    return cube >= 0 && is_cube(cube, x);
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
};

// x * sigmoid(x).
class SwishFinder final : public ActivationFinder {
 public:
  using ActivationFinder::ActivationFinder;

 private:
  void match(Layer& layer, int first, int second) override {
    const Layer* sigmoid = inner(second, LayerKind::kActivate);
    if (sigmoid == nullptr || sigmoid->activation.function != Function::kSigmoid ||
        sigmoid->inputs[0] != first) {
      return;
    }
    steps_.push_back(second);
    replace(layer, first, {Function::kSwish, 1}, 2);
  }
};

}  // namespace

void recognize_activations(LayerNet& net) {
  GeluFinder(net).run();
  SwishFinder(net).run();
}

}  // namespace tierup::kernels::net
