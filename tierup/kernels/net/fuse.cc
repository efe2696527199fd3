// Joining layers; see layers.h.
//
// Layers are taken in order. One that is only applied to the result of a convolution or product
// goes into that layer, which then stands at the later place, where everything that it reads
// (a summand) has been computed. Views between such a pair are moved behind: for element-wise
// work f, f(view(x)) = view(f(x)), with a summand viewed the other way round.
#include <algorithm>
#include <deque>

#include "tierup/kernels/net/convolution_forms.h"
#include "tierup/kernels/net/factor_folds.h"
#include "tierup/kernels/net/joined_branches.h"
#include "tierup/kernels/net/layers.h"
#include "tierup/kernels/net/weight_factors.h"
#include "tierup/kernels/onednn/onednn_level.h"

namespace tierup::kernels::net {
namespace {

constexpr size_t kNowhere = SIZE_MAX;

bool same_sizes(const IntVector& a, const IntVector& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

class Fuser {
 public:
  Fuser(LayerNet& net, FactorCheck check) : net_(net), check_(check) {}

  void run() {
    std::vector<Layer> given = std::move(net_.layers);
    for (Layer& layer : given) place(std::move(layer));
    net_.layers.clear();
    for (Placed& placed : placed_) {
      if (placed.stands) net_.layers.push_back(std::move(placed.layer));
    }
    remove_unread();
    share_weights();
  }

 private:
  struct Placed {
    Layer layer;
    bool stands = true;
    bool is_viewed_back = false;  // Made here, so that work could move before another view.
  };

  Value& value(int id) { return net_.values[static_cast<size_t>(id)]; }
  // The layer that makes a value which is read so many times, by who asks; null if there is none.
  Placed* sole_producer(int id, int reads = 1) {
    if (value(id).uses != reads) return nullptr;
    const auto at = static_cast<size_t>(id);
    if (at >= producer_.size() || producer_[at] == kNowhere) return nullptr;
    return &placed_[producer_[at]];
  }
  void append(Layer layer) {
    const auto output = static_cast<size_t>(layer.output);
    if (producer_.size() <= output) producer_.resize(output + 1, kNowhere);
    producer_[output] = placed_.size();
    placed_.push_back({std::move(layer), true});
  }
  int new_value(const IntVector& sizes) {
    Value fresh;
    fresh.sizes = sizes;
    fresh.uses = 1;
    net_.values.push_back(std::move(fresh));
    return static_cast<int>(net_.values.size()) - 1;
  }

  void place(Layer layer) {
    if (absorb(layer) || extend_formula(layer)) return;
    if (layer.kind == LayerKind::kConv) take_padding(layer);
    if (move_before_view(layer)) return;
    append(std::move(layer));
  }

  bool absorb(Layer& layer) {
    switch (layer.kind) {
      case LayerKind::kAffine: return fold_affine(layer);
      case LayerKind::kActivate: return add_activation(layer);
      case LayerKind::kBinary:
        return !layer.multiplies && (join_branches(layer, 0) || join_branches(layer, 1) ||
                                     add_sum(layer, 0) || add_sum(layer, 1));
      default: return false;
    }
  }
  // Point-wise work after, or before, a formula becomes a part of it.
  bool extend_formula(Layer& layer) {
    std::optional<Formula> formula = formula_at(layer);
    if (!formula) return false;
    bool is_formula = layer.kind == LayerKind::kFunction;
    std::vector<int> inputs = distinct(layer.inputs);
    for (size_t i = 0; i < inputs.size();) {
      const auto reads = std::ranges::count(layer.inputs, inputs[i]);
      Placed* earlier = sole_producer(inputs[i], static_cast<int>(std::max<int64_t>(reads, 1)));
      const bool fits = earlier != nullptr && earlier->layer.epilogue.empty() &&
                        (is_formula || earlier->layer.kind == LayerKind::kFunction);
      const std::optional<Formula> before = fits ? formula_at(earlier->layer) : std::nullopt;
      std::vector<int> joined_inputs = inputs;
      if (before && before->size() + formula->size() <= kMostFormulaSteps) {
        Formula joined = join_formulas(*before, distinct(earlier->layer.inputs), *formula,
                                       joined_inputs, inputs[i]);
        if (joined_inputs.size() <= kMostFormulaInputs) {
          earlier->stands = false;
          formula = std::move(joined);
          inputs = std::move(joined_inputs);
          is_formula = true;
          i = 0;
          continue;
        }
      }
      ++i;
    }
    if (!is_formula) return false;
    layer.kind = LayerKind::kFunction;
    layer.formula = std::move(*formula);
    layer.inputs = std::move(inputs);
    append(std::move(layer));
    return true;
  }
  // Of a layer whose operands are as large as its result.
  std::optional<Formula> formula_at(const Layer& layer) {
    const bool is_whole = std::ranges::all_of(layer.inputs, [&](int input) {
      return same_sizes(value(input).sizes, value(layer.output).sizes);
    });
    return is_whole && layer.epilogue.empty() ? formula_of(layer) : std::nullopt;
  }
  // Layers whose loops do what follows on each block before they go on.
  bool takes_steps(const Layer& layer) {
    if (layer.kind == LayerKind::kBinary) return layer.multiplies || is_join(layer);
    return layer.kind == LayerKind::kGroupNorm || layer.kind == LayerKind::kAffine ||
           layer.kind == LayerKind::kPrelu;
  }
  // Of values that are whole.
  bool is_join(const Layer& layer) {
    return layer.kind == LayerKind::kBinary &&
           same_sizes(value(layer.inputs[0]).sizes, value(layer.inputs[1]).sizes);
  }
  static bool takes_epilogue(const Layer& layer) {
    return layer.kind == LayerKind::kConv || layer.kind == LayerKind::kGemm;
  }
  // The producer goes on with the later layer's result, at the later place.
  void take_over(Placed& placed, const Layer& later) {
    Layer layer = std::move(placed.layer);
    placed.stands = false;
    layer.output = later.output;
    append(std::move(layer));
  }

  // Zeros around the input that only this convolution reads are its own padding.
  void take_padding(Layer& layer) {
    Placed* producer = sole_producer(layer.inputs[0]);
    if (producer == nullptr || producer->layer.kind != LayerKind::kPoints) return;
    const Layer& points = producer->layer;
    const auto& sizes = value(points.inputs[0]).sizes;
    ConvGeometry g = layer.conv;
    const auto missing = 3 - points.from.size();
    for (size_t d = 0; d < points.from.size(); ++d) {
      const auto before = zeros_before(points.from[d], sizes[d + 2]);
      if (!before || points.fill != 0) return;
      g.in[missing + d] = sizes[d + 2];
      g.padding[missing + d] += *before;
      g.padding_after[missing + d] +=
          static_cast<int64_t>(points.from[d].size()) - *before - sizes[d + 2];
    }
    layer.conv = g;
    layer.inputs[0] = points.inputs[0];
    producer->stands = false;
  }
  // Where the dimension's entries are all read in order, once, and nothing else but what is filled.
  static std::optional<int64_t> zeros_before(const std::vector<int64_t>& from, int64_t size) {
    const auto first = std::find(from.begin(), from.end(), 0);
    const int64_t before = first - from.begin();
    if (static_cast<int64_t>(from.size()) - before < size) return std::nullopt;
    for (size_t i = 0; i < from.size(); ++i) {
      const int64_t at = static_cast<int64_t>(i) - before;
      if (from[i] != (at >= 0 && at < size ? at : -1)) return std::nullopt;
    }
    return before;
  }

  bool fold_affine(const Layer& layer) {
    Placed* producer = sole_producer(layer.inputs[0]);
    if (producer == nullptr) return false;
    if (!fold_into(*producer, [&](Layer& p) { return may_take_factors(p, layer); })) return false;
    const auto fold = [&](Layer& p) {
      take_factors(p, layer);
      return true;
    };
    if (!fold_into(*producer, fold)) return false;
    take_over(*producer, layer);
    return true;
  }
  bool add_activation(const Layer& layer) {
    Placed* producer = sole_producer(layer.inputs[0]);
    if (producer == nullptr) return false;
    const auto fold = [&](Layer& p) { return take_activation(p, layer.activation); };
    if (!fold_into(*producer, fold)) return false;
    take_over(*producer, layer);
    return true;
  }
  // Into the layer, or into all the parts that it weaves together, which are alike.
  template <typename Fold>
  bool fold_into(Placed& producer, const Fold& fold) {
    if (producer.layer.kind != LayerKind::kWeave) return fold(producer.layer);
    std::vector<Placed*> parts;
    for (const int input : producer.layer.inputs) {
      parts.push_back(sole_producer(input));
      if (parts.back() == nullptr || parts.back()->layer.kind != LayerKind::kConv) return false;
    }
    return std::all_of(parts.begin(), parts.end(), [&](Placed* part) { return fold(part->layer); });
  }

  // Of a convolution that is not packed as it is.
  void require_normal(const Layer& layer) const {
    const bool is_unseen = check_ == FactorCheck::kWhilePacking && layer.kind == LayerKind::kConv;
    if (is_unseen && !layer.scale.empty() && !keeps_weights_normal(layer, layer.scale))
      throw LostWeight();
  }

  bool may_take_factors(const Layer& p, const Layer& affine) const {
    if (!(takes_epilogue(p) || p.kind == LayerKind::kAffine) || !p.epilogue.empty() ||
        p.axis != affine.axis) {
      return false;
    }
    const std::vector<Activation> joined = joined_factors(p, affine);
    if (joined.empty() || !takes_epilogue(p) || check_ == FactorCheck::kWhilePacking)
      return !joined.empty();
    std::vector<float> factors;
    for (const Activation& one : joined) factors.push_back(one.alpha);
    return keeps_weights_normal(p, factors);
  }
  static void take_factors(Layer& p, const Layer& affine) {
    const std::vector<Activation> joined = joined_factors(p, affine);
    p.scale.resize(joined.size());
    p.shift.resize(joined.size());
    for (size_t i = 0; i < joined.size(); ++i) {
      p.scale[i] = joined[i].alpha;
      p.shift[i] = joined[i].beta;
    }
  }

  static bool take_step(Layer& p, const Epilogue& epilogue) {
    p.epilogue.push_back(epilogue);
    if (store_steps(p)) return true;
    p.epilogue.pop_back();
    return false;
  }
  bool take_activation(Layer& p, const Activation& activation) {
    if (takes_steps(p)) return take_step(p, {-1, activation});
    if (!takes_epilogue(p) && p.kind != LayerKind::kBatchGemm) return false;
    if (leaves_lanes_unset(p)) return false;
    auto& done = p.epilogue;
    const auto is_same = [&](const Epilogue& e) {
      return e.summand < 0 && e.activation.function == activation.function;
    };
    // oneDNN 2.6 computes the second of two post-operations of one kind with the first's numbers.
    const auto same = std::find_if(done.begin(), done.end(), is_same);
    if (same != done.end()) {
      return activation.function == Function::kLinear && same + 1 == done.end() &&
             join_linear(same->activation, activation);
    }
    done.push_back({-1, activation});
    return true;
  }

  // Below AVX-512, oneDNN's convolutions leave what they like in the lanes beyond the last channel;
  // a function of that may raise the flag of a NaN (base/float_watch.h), each time.
  bool leaves_lanes_unset(const Layer& layer) {
    constexpr int64_t kLanes = 8;
    return layer.kind == LayerKind::kConv && value(layer.output).sizes[1] % kLanes != 0 &&
           onednn_level() < InstructionLimit::kAvx512;
  }

  // Sums of branches of one input, of which the one at `side` takes the other one in. Weights are
  // named by the sum: those of the branch alone are others.
  bool join_branches(const Layer& layer, size_t side) {
    Placed* own = sole_producer(layer.inputs[side]);
    Placed* other = sole_producer(layer.inputs[1 - side]);
    if (own == nullptr || other == nullptr || own == other) return false;
    std::optional<Layer> joined = joined_branches(own->layer, other->layer);
    if (!joined) return false;
    for (const Layer* branch : {&own->layer, &other->layer}) require_normal(*branch);
    joined->id = layer.id;
    joined->output = layer.output;
    own->stands = false;
    other->stands = false;
    append(std::move(*joined));
    return true;
  }

  // `side`: the operand whose producer takes the other one in.
  bool add_sum(const Layer& layer, size_t side) {
    const int own = layer.inputs[side];
    const int other = layer.inputs[1 - side];
    if (own == other || !same_sizes(value(own).sizes, value(other).sizes)) return false;
    Placed* producer = sole_producer(own);
    if (producer == nullptr) return false;
    const bool steps = takes_steps(producer->layer) && !is_join(producer->layer);
    if (!steps && !takes_epilogue(producer->layer)) return false;
    const auto& done = producer->layer.epilogue;
    if (std::any_of(done.begin(), done.end(), [](const Epilogue& e) { return e.summand >= 0; })) {
      return false;
    }
    producer->layer.epilogue.push_back({other, {}});
    take_over(*producer, layer);
    return true;
  }

  // op(view(x)) becomes view(op(x)), if the view serves nothing else and something before it may
  // take the operation in.
  bool move_before_view(Layer& layer) {
    const bool is_elementwise = layer.kind == LayerKind::kAffine ||
                                layer.kind == LayerKind::kActivate ||
                                (layer.kind == LayerKind::kBinary && !layer.multiplies);
    if (!is_elementwise) return false;
    for (size_t side = 0; side < layer.inputs.size(); ++side) {
      Placed* producer = sole_producer(layer.inputs[side]);
      if (producer == nullptr || !leads_to_product(*producer)) continue;
      if (rewrite(layer, side, *producer)) return true;
    }
    return false;
  }
  // A view, or several, of a product that nothing else reads. Before a view that was made here,
  // work would go back to where it came from.
  bool leads_to_product(const Placed& placed) {
    const Layer& view = placed.layer;
    if (view.kind != LayerKind::kPermute && view.kind != LayerKind::kView) return false;
    if (placed.is_viewed_back) return false;
    Placed* before = sole_producer(view.inputs[0]);
    return before != nullptr && (takes_epilogue(before->layer) || leads_to_product(*before));
  }

  bool rewrite(Layer& layer, size_t side, Placed& placed) {
    const Layer view = placed.layer;
    const IntVector inner = value(view.inputs[0]).sizes;
    if (layer.kind == LayerKind::kAffine) {
      if (view.kind != LayerKind::kPermute) return false;
      layer.axis = static_cast<size_t>(view.order[layer.axis]);
    }
    int other = -1;
    if (layer.kind == LayerKind::kBinary) {
      other = layer.inputs[1 - side];
      if (other == layer.inputs[side] ||
          !same_sizes(value(other).sizes, value(layer.inputs[side]).sizes)) {
        return false;
      }
    }
    placed.stands = false;
    if (other >= 0) other = viewed_back(other, view, inner);
    const int output = layer.output;
    layer.inputs[side] = view.inputs[0];
    if (other >= 0) layer.inputs[1 - side] = other;
    layer.output = new_value(inner);
    Layer after = view;
    after.inputs[0] = layer.output;
    after.output = output;
    place(std::move(layer));
    append(std::move(after));
    return true;
  }
  // The view's inverse, of another value: if that is such a view itself, what it is of.
  int viewed_back(int id, const Layer& view, const IntVector& sizes) {
    if (Placed* same = sole_producer(id); same != nullptr && same->layer.kind == view.kind &&
                                          same->layer.order == view.order &&
                                          same_sizes(value(same->layer.inputs[0]).sizes, sizes)) {
      same->stands = false;
      return same->layer.inputs[0];
    }
    Layer back;
    back.kind = view.kind;
    back.id = view.id;
    back.inputs = {id};
    back.output = new_value(sizes);
    if (view.kind == LayerKind::kPermute) {
      back.order.resize(view.order.size());
      for (size_t i = 0; i < view.order.size(); ++i)
        back.order[static_cast<size_t>(view.order[i])] = static_cast<int64_t>(i);
    }
    const int output = back.output;
    append(std::move(back));
    placed_.back().is_viewed_back = true;
    return output;
  }

  void remove_unread() {
    for (size_t i = net_.layers.size(); i-- > 0;) {
      const Layer& layer = net_.layers[i];
      if (is_read(layer.output, i)) continue;
      net_.layers.erase(net_.layers.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }
  bool is_read(int id, size_t after) const {
    if (std::find(net_.outputs.begin(), net_.outputs.end(), id) != net_.outputs.end()) return true;
    for (size_t i = after + 1; i < net_.layers.size(); ++i) {
      const Layer& layer = net_.layers[i];
      if (std::find(layer.inputs.begin(), layer.inputs.end(), id) != layer.inputs.end())
        return true;
      for (const Epilogue& e : layer.epilogue) {
        if (e.summand == id) return true;
      }
    }
    return false;
  }

  // A loop that was written out reads the same weights in each of its products.
  void share_weights() {
    for (size_t i = 0; i < net_.layers.size(); ++i) {
      Layer& layer = net_.layers[i];
      layer.weights_id = layer.id;
      if (layer.kind != LayerKind::kGemm || !layer.scale.empty()) continue;
      const auto first = std::find_if(
          net_.layers.begin(), net_.layers.begin() + static_cast<std::ptrdiff_t>(i),
          [&](const Layer& other) {
            return other.kind == LayerKind::kGemm && other.scale.empty() &&
                   same_memory(other.weight, layer.weight) && same_memory(other.bias, layer.bias);
          });
      layer.weights_id = first->weights_id;
    }
  }
  static bool same_memory(const Tensor& a, const Tensor& b) {
    if (!a.defined() || !b.defined()) return a.defined() == b.defined();
    return a.raw() == b.raw() && std::ranges::equal(a.sizes(), b.sizes()) &&
           std::ranges::equal(a.strides(), b.strides());
  }

  LayerNet& net_;
  const FactorCheck check_;
  std::deque<Placed> placed_;  // Its elements stay where they are.
  std::vector<size_t> producer_;
};

}  // namespace

void fuse(LayerNet& net, FactorCheck check) { Fuser(net, check).run(); }

}  // namespace tierup::kernels::net
