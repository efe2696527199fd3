// Formulas that are one layer; see layers.h.
#include <algorithm>
#include <cmath>
#include <optional>

#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/formula_finder.h"

namespace tierup::kernels::net {
namespace {

// A norm written out: a product by the inverse of a root, and factors for each column after it.
class NormFinder : protected FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;
  virtual ~NormFinder() = default;

  void run() {
    for (Layer& layer : net_.layers) {
      if (is_product(&layer)) match(layer);
      if (layer.kind == LayerKind::kAffine) take_factors(layer);
    }
    remove_dead();
  }

 protected:
  virtual void match(Layer& product) = 0;
  virtual void take_factors(Layer& affine) = 0;

  static bool is_line(const Layer* layer, float alpha) {
    return layer != nullptr && layer->activation.function == Function::kLinear &&
           layer->activation.alpha == alpha;
  }
  static bool is_square(const Layer* layer, int of) {
    return is_product(layer) && layer->inputs[0] == of && layer->inputs[1] == of;
  }
  // What is multiplied by is rsqrt(value + eps), or 1 / sqrt(value + eps): the sum. Begins
  // `steps_`, of all that the formula is made of, with it and what stands around it.
  const Layer* sum_under_root(int id) {
    steps_.clear();
    const Layer* inverse = inner(id);
    const bool divides = is_function(inverse, Body::kReciprocal);
    const Layer* root = divides ? inner(inverse->inputs[0]) : inverse;
    if (!is_function(root, divides ? Body::kSqrt : Body::kRsqrt)) return nullptr;
    const Layer* sum = inner(root->inputs[0], LayerKind::kActivate);
    if (!is_line(sum, 1)) return nullptr;
    if (divides) steps_.push_back(root->output);
    steps_.insert(steps_.end(), {id, sum->output});
    return sum;
  }
  void drop_steps() { dead_.insert(dead_.end(), steps_.begin(), steps_.end()); }

  std::vector<int> steps_;
};

// x * rsqrt(mean(x * x) + eps), and a factor for each column after it.
class RmsNormFinder final : public NormFinder {
 public:
  using NormFinder::NormFinder;

 private:
  void match(Layer& layer) override {
    const int x = layer.inputs[0];
    const Layer* sum = sum_under_root(layer.inputs[1]);
    const Layer* mean = sum != nullptr ? inner(sum->inputs[0], LayerKind::kOverRows) : nullptr;
    if (mean == nullptr || mean->reduction != Reduction::kMean) return;
    const Layer* square = inner(mean->inputs[0]);
    if (!is_square(square, x)) return;
    steps_.insert(steps_.end(), {mean->output, square->output});
    drop_steps();
    layer.kind = LayerKind::kRmsNorm;
    layer.eps = static_cast<double>(sum->activation.beta);
    layer.inputs = {x};
    // The formula read it three times.
    net_.values[static_cast<size_t>(x)].uses -= 2;
  }

  void take_factors(Layer& layer) override {
    const Layer* norm = inner(layer.inputs[0], LayerKind::kRmsNorm);
    const size_t rank = net_.values[static_cast<size_t>(layer.output)].sizes.size();
    if (norm == nullptr || !norm->scale.empty() || layer.axis + 1 != rank || shifts(layer)) return;
    dead_.push_back(norm->output);
    layer.kind = LayerKind::kRmsNorm;
    layer.eps = norm->eps;
    layer.reduction = norm->reduction;
    layer.inputs = norm->inputs;
    layer.shift.clear();
  }
};

// x / max(the length of x, eps), as torch.nn.functional.normalize has it, or x / its length, over
// the last axis.
class UnitLengthFinder final : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers)
      if (is_product(&layer)) match(layer);
    remove_dead();
  }

 private:
  void match(Layer& product) {
    const int x = product.inputs[0];
    const Layer* inverse = inner(product.inputs[1]);
    if (!is_function(inverse, Body::kReciprocal)) return;
    std::vector<int> steps{inverse->output};
    const Layer* least = inner(inverse->inputs[0], LayerKind::kActivate);
    const bool is_bound = least != nullptr && least->activation.function == Function::kClip &&
                          least->activation.alpha >= 0 && least->activation.beta > 0 &&
                          std::isinf(least->activation.beta);
    if (least != nullptr && !is_bound) return;
    if (is_bound) steps.push_back(least->output);
    const Layer* length =
        inner(is_bound ? least->inputs[0] : inverse->inputs[0], LayerKind::kOverRows);
    if (length == nullptr || length->reduction != Reduction::kNorm || length->inputs[0] != x)
      return;
    steps.push_back(length->output);
    dead_.insert(dead_.end(), steps.begin(), steps.end());
    product.kind = LayerKind::kRmsNorm;
    product.reduction = Reduction::kNorm;
    product.eps = is_bound ? static_cast<double>(least->activation.alpha) : 0;
    product.inputs = {x};
    --net_.values[static_cast<size_t>(x)].uses;  // The length read it, too.
  }
};

// (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) over the last axis, or over one that is turned
// to be the last one, and a factor and a summand for each of its entries after it.
class LayerNormFinder final : public NormFinder {
 public:
  using NormFinder::NormFinder;

 private:
  // A mean over one axis, which stays: the layer, and those that turn the axis there and back.
  struct Mean {
    Layer* turn = nullptr;
    Layer* mean = nullptr;
    const Layer* back = nullptr;
    int of = -1;
  };
  std::optional<Mean> mean_at(int id) const {
    Mean found;
    found.mean = inner(id);
    if (found.mean != nullptr && found.mean->kind == LayerKind::kPermute) {
      found.back = found.mean;
      found.mean = inner(found.back->inputs[0]);
    }
    if (found.mean == nullptr || found.mean->kind != LayerKind::kOverRows ||
        found.mean->reduction != Reduction::kMean) {
      return std::nullopt;
    }
    found.of = found.mean->inputs[0];
    if (found.back == nullptr) return found;
    found.turn = inner(found.of, LayerKind::kPermute);
    if (found.turn == nullptr || !turns_back(*found.turn, *found.back)) return std::nullopt;
    found.of = found.turn->inputs[0];
    return found;
  }
  static bool turns_back(const Layer& turn, const Layer& back) {
    for (size_t d = 0; d < turn.order.size(); ++d) {
      if (back.order[static_cast<size_t>(turn.order[d])] != static_cast<int64_t>(d)) return false;
    }
    return true;
  }

  void match(Layer& layer) override {
    constexpr int kReadsOfDifference = 3;  // By the square, twice, and by the product.
    const int left = layer.inputs[0];
    const Layer* sum = sum_under_root(layer.inputs[1]);
    const std::optional<Mean> variance =
        sum != nullptr ? mean_at(sum->inputs[0]) : std::optional<Mean>();
    const Layer* square = variance ? inner(variance->of) : nullptr;
    if (!is_square(square, left)) return;
    const Layer* difference = inner(left, kReadsOfDifference);
    const bool subtracts =
        difference != nullptr && difference->kind == LayerKind::kBinary && !difference->multiplies;
    const Layer* negative =
        subtracts ? inner(difference->inputs[1], LayerKind::kActivate) : nullptr;
    if (!is_line(negative, -1) || negative->activation.beta != 0) return;
    const std::optional<Mean> mean = mean_at(negative->inputs[0]);
    const int x = difference->inputs[0];
    const bool is_turned = mean && mean->turn != nullptr;
    if (!mean || mean->of != x || is_turned != (variance->turn != nullptr) ||
        (is_turned && !std::equal(mean->turn->order.begin(), mean->turn->order.end(),
                                  variance->turn->order.begin()))) {
      return;
    }
    steps_.insert(steps_.end(),
                  {square->output, difference->output, negative->output, mean->mean->output});
    drop_steps();
    --net_.values[static_cast<size_t>(x)].uses;  // The mean and the difference read it.
    const auto eps = static_cast<double>(sum->activation.beta);
    if (!is_turned) {
      dead_.push_back(variance->mean->output);
      make_norm(layer, x, eps);
      return;
    }
    // The norm stands where the variance did, and is turned back where the product was.
    dead_.insert(dead_.end(), {mean->back->output, variance->turn->output, variance->back->output});
    Layer& norm = *variance->mean;
    make_norm(norm, mean->turn->output, eps);
    net_.values[static_cast<size_t>(norm.output)].sizes =
        net_.values[static_cast<size_t>(mean->turn->output)].sizes;
    layer.kind = LayerKind::kPermute;
    layer.order = variance->back->order;
    layer.inputs = {norm.output};
  }
  static void make_norm(Layer& layer, int input, double eps) {
    layer.kind = LayerKind::kLayerNorm;
    layer.inputs = {input};
    layer.eps = eps;
    layer.weight = Tensor();
    layer.bias = Tensor();
  }

  void take_factors(Layer& layer) override {
    Layer* norm = inner(layer.inputs[0]);
    const Layer* back = nullptr;
    size_t axis = layer.axis;
    if (norm != nullptr && norm->kind == LayerKind::kPermute) {
      back = norm;
      axis = static_cast<size_t>(back->order[axis]);
      norm = inner(back->inputs[0]);
    }
    if (norm == nullptr || norm->kind != LayerKind::kLayerNorm) return;
    const IntVector& sizes = net_.values[static_cast<size_t>(norm->output)].sizes;
    if (axis + 1 != sizes.size()) return;
    const auto count = static_cast<int64_t>(layer.scale.size());
    const Tensor weight = Tensor::empty(IntVector{count}, ScalarType::kFloat);
    const Tensor bias = Tensor::empty(IntVector{count}, ScalarType::kFloat);
    for (int64_t i = 0; i < count; ++i) {
      const auto c = static_cast<size_t>(i);
      const float factor = norm->weight.defined() ? norm->weight.data<float>()[i] : 1;
      const float summand = norm->bias.defined() ? norm->bias.data<float>()[i] : 0;
      weight.data<float>()[i] = factor * layer.scale[c];
      bias.data<float>()[i] = summand * layer.scale[c] + layer.shift[c];
    }
    norm->weight = weight;
    norm->bias = bias;
    layer.scale.clear();
    layer.shift.clear();
    dead_.push_back(layer.inputs[0]);
    if (back == nullptr) {
      make_norm(layer, norm->inputs[0], norm->eps);
      layer.weight = weight;
      layer.bias = bias;
    } else {
      layer.kind = LayerKind::kPermute;
      layer.order = back->order;
      layer.inputs = back->inputs;
    }
  }
};

// The mean of x * x, of which nothing else is read.
class MeanSquareFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      const bool reduces =
          layer.kind == LayerKind::kOverRows || layer.kind == LayerKind::kOverPoints;
      if (reduces && layer.reduction == Reduction::kMean) match(layer);
    }
    remove_dead();
  }

 private:
  // Through views: squares of what a view shows are the view of squares.
  void match(Layer& layer) {
    Layer* reader = &layer;
    const Layer* square = inner(layer.inputs[0]);
    while (square != nullptr &&
           (square->kind == LayerKind::kView || square->kind == LayerKind::kPermute)) {
      reader = producer_[static_cast<size_t>(square->output)];
      square = inner(reader->inputs[0]);
    }
    if (!is_product(square) || square->inputs[0] != square->inputs[1]) return;
    dead_.push_back(square->output);
    layer.reduction = Reduction::kMeanSquare;
    reader->inputs[0] = square->inputs[0];
    --net_.values[static_cast<size_t>(square->inputs[0])].uses;  // The square read it twice.
  }
};

// (x * y) * factors is x * (y * factors), where y is smaller than x.
class FactorMover : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (layer.kind == LayerKind::kAffine) move(layer);
    }
  }

 private:
  void move(Layer& affine) {
    Layer* product = inner(affine.inputs[0]);
    if (!is_product(product) || shifts(affine)) return;
    const IntVector& whole = net_.values[static_cast<size_t>(affine.output)].sizes;
    const IntVector small = net_.values[static_cast<size_t>(product->inputs[1])].sizes;
    const size_t missing = whole.size() - small.size();
    const bool has_axis = missing == 0 || affine.axis + 1 == whole.size();
    if (!has_axis || numel_of(small) == numel_of(whole) || affine.axis < missing ||
        small[affine.axis - missing] != whole[affine.axis]) {
      return;
    }
    // Each goes to the other's place.
    affine.axis -= missing;
    affine.inputs[0] = product->inputs[1];
    product->inputs[1] = product->output;
    std::swap(product->output, affine.output);
    std::swap(*product, affine);
    net_.values[static_cast<size_t>(product->output)].sizes = small;
    producer_[static_cast<size_t>(product->output)] = product;
    producer_[static_cast<size_t>(affine.output)] = &affine;
  }
};

// f(one half) * sigmoid(the other half), as WaveNet and gated convolutions have it.
class GateFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (!is_product(&layer)) continue;
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
  recognize_activations(net);
  LayerNormFinder(net).run();  // Holds the other's formula, of what is left without the mean.
  UnitLengthFinder(net).run();
  RmsNormFinder(net).run();
  MeanSquareFinder(net).run();
  FactorMover(net).run();
  recognize_attention(net);
}

}  // namespace tierup::kernels::net
