// FormulaFinder: what looks for formulas that are one layer.
#pragma once

#include <algorithm>
#include <vector>

#include "tierup/kernels/net/layers.h"

namespace tierup::kernels::net {

// What the finders of formulas share: who made a value, and layers that a formula takes the place
// of.
class FormulaFinder {
 public:
  explicit FormulaFinder(LayerNet& net) : net_(net), producer_(net.values.size(), nullptr) {
    for (Layer& layer : net.layers) producer_[static_cast<size_t>(layer.output)] = &layer;
  }

 protected:
  static bool is_product(const Layer* layer) {
    return layer != nullptr && layer->kind == LayerKind::kBinary && layer->multiplies;
  }
  // Whether an affine layer adds anything.
  static bool shifts(const Layer& affine) {
    return std::ranges::any_of(affine.shift, [](float x) { return x != 0; });
  }
  // The producer of a value that only the formula reads.
  Layer* inner(int id, int uses = 1) const {
    if (net_.values[static_cast<size_t>(id)].uses != uses) return nullptr;
    return producer_[static_cast<size_t>(id)];
  }
  // The same if it is of this kind.
  Layer* inner(int id, LayerKind kind) const {
    Layer* layer = inner(id);
    return layer != nullptr && layer->kind == kind ? layer : nullptr;
  }
  void remove_dead() {
    std::erase_if(net_.layers, [&](const Layer& layer) {
      return std::find(dead_.begin(), dead_.end(), layer.output) != dead_.end();
    });
  }

  LayerNet& net_;
  std::vector<Layer*> producer_;
  std::vector<int> dead_;
};

// Puts one activation where GELU or swish is written out.
void recognize_activations(LayerNet& net);

// Puts one layer where attention is written out.
void recognize_attention(LayerNet& net);

}  // namespace tierup::kernels::net
