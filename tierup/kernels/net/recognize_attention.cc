// Attention, and heads of it that share keys, as graphs write them out.
//
// softmax(scale * q k^T + masks) v: scale and masks in any order or absent, a mask added or filled
// in (a bias of positions and what hides later keys), over matrices of any number of batch
// dimensions, which may be joined for the products and parted for what stands between them. A
// factor of each head (as Swin Transformer V2's cosine attention has) goes to its queries.
#include <algorithm>
#include <cmath>
#include <map>

#include "tierup/kernels/attention/attention_floats.h"
#include "tierup/kernels/net/formula_finder.h"

namespace tierup::kernels::net {
namespace {

class AttentionFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers)
      if (layer.kind == LayerKind::kBatchGemm) match(layer);
    place_made();
    remove_dead();
  }

 private:
  struct Mask {
    int id;
    double scale;  // Of what was done to the sum with it; of all sums.
    LayerMask use;
    IntVector shape;  // Of the scores where it is met.
    int repeats = 0;  // It is added so many times more.
  };
  // What stands between the weights and the product of queries and keys.
  struct Scores {
    const Layer* product = nullptr;
    double scale = 1;
    const Layer* factors = nullptr;  // Of each head, before all masks.
    std::vector<Mask> masks;         // From the last to the first.
    IntVector shape;                 // [batch, heads, queries, keys].
  };

  const IntVector& sizes(int id) const { return net_.values[static_cast<size_t>(id)].sizes; }

  // A value in front of the views that leave its matrices as they are.
  int behind_views(int id, std::vector<int>& steps) const {
    for (;;) {
      const Layer* view = inner(id, LayerKind::kView);
      if (view == nullptr) return id;
      const IntVector& before = sizes(view->inputs[0]);
      const IntVector& after = sizes(id);
      if (before.size() < 3 || after.size() < 3 ||
          !std::equal(before.end() - 2, before.end(), after.end() - 2)) {
        return id;
      }
      steps.push_back(id);
      id = view->inputs[0];
    }
  }

  static std::optional<double> factor_of(const Layer& layer) {
    const bool scales = layer.kind == LayerKind::kActivate &&
                        layer.activation.function == Function::kLinear &&
                        layer.activation.beta == 0;
    return scales ? std::optional<double>(layer.activation.alpha) : std::nullopt;
  }

  // One for each head, that moves no query out of the range of normal numbers unless that stands at
  // an end of it.
  bool scales_heads(const Layer& layer) const {
    constexpr float kLeast = 0x1p-32F;
    constexpr float kMost = 0x1p32F;
    return layer.kind == LayerKind::kAffine && layer.axis == 1 && sizes(layer.output).size() == 4 &&
           !shifts(layer) && std::ranges::all_of(layer.scale, [](float x) {
             return std::abs(x) >= kLeast && std::abs(x) <= kMost;
           });
  }

  void match(Layer& layer) {
    std::vector<int> steps;
    const int weights = behind_views(layer.inputs[0], steps);
    const Layer* softmax = inner(weights, LayerKind::kSoftmax);
    if (softmax == nullptr) return;
    steps.push_back(weights);
    Scores scores;
    if (!follow(softmax->inputs[0], scores, steps)) return;
    if (!find_shape(sizes(weights), scores)) return;
    put_attention(layer, scores);
    dead_.insert(dead_.end(), steps.begin(), steps.end());
  }

  // From the softmax's input back to the product; nothing else reads what stands between.
  bool follow(int id, Scores& found, std::vector<int>& steps) const {
    for (;;) {
      id = behind_views(id, steps);
      const Layer* layer = inner(id);
      if (layer == nullptr) return false;
      steps.push_back(id);
      if (layer->kind == LayerKind::kBatchGemm) {
        found.product = layer;
        return true;
      }
      if (const auto factor = factor_of(*layer)) {
        found.scale *= *factor;
        id = layer->inputs[0];
        continue;
      }
      if (found.factors != nullptr) return false;
      if (scales_heads(*layer)) {
        found.factors = layer;
        id = layer->inputs[0];
        continue;
      }
      const bool sums = layer->kind == LayerKind::kBinary && !layer->multiplies;
      const size_t side = sums && !leads_to_product(layer->inputs[0]) ? 1 : 0;
      if (sums && is_last_mask(found, layer->inputs[1 - side], sizes(id))) {
        found.masks.back().scale += found.scale;
        ++found.masks.back().repeats;
        id = layer->inputs[side];
        continue;
      }
      if (found.masks.size() == kMostAttentionMasks || !(sums || layer->kind == LayerKind::kFill))
        return false;
      Mask mask{layer->inputs[1 - side], found.scale, {}, sizes(id), 0};
      mask.use.fills = !sums;
      mask.use.fill = layer->fill * found.scale;
      found.masks.push_back(std::move(mask));
      id = layer->inputs[side];
    }
  }
  // Added once more.
  static bool is_last_mask(const Scores& found, int id, const IntVector& shape) {
    if (found.masks.empty()) return false;
    const Mask& last = found.masks.back();
    return !last.use.fills && last.id == id && last.shape == shape;
  }
  bool leads_to_product(int id) const {
    std::vector<int> passed;
    for (;;) {
      id = behind_views(id, passed);
      const Layer* layer = inner(id);
      if (layer == nullptr) return false;
      if (layer->kind == LayerKind::kBatchGemm) return true;
      const bool sums = layer->kind == LayerKind::kBinary && !layer->multiplies;
      const bool scales = factor_of(*layer) || scales_heads(*layer);
      if (!scales && layer->kind != LayerKind::kFill && !sums) return false;
      if (sums && leads_to_product(layer->inputs[1])) return true;
      id = layer->inputs[0];
    }
  }

  // The four dimensions in which all masks can be met. Of five (windows of images: [images,
  // windows, heads, queries, keys]) the first two are the batch.
  bool find_shape(const IntVector& weights, Scores& scores) const {
    const auto with_batch = [](const IntVector& shape) {
      IntVector four = shape;
      if (four.size() < 4) four.insert(four.begin(), 4 - four.size(), 1);
      if (four.size() != 5) return four;
      four[1] *= four[0];
      four.erase(four.begin());
      return four;
    };
    scores.shape = with_batch(scores.masks.empty() ? weights : scores.masks.back().shape);
    if (scores.factors != nullptr && sizes(scores.factors->output) != scores.shape) return false;
    return scores.shape.size() == 4 && std::ranges::all_of(scores.masks, [&](Mask& mask) {
             return with_batch(mask.shape) == scores.shape && spreads_over(mask);
           });
  }

  // Whether the mask's sizes are those of the scores, or 1; notes how it goes on over the batch.
  bool spreads_over(Mask& mask) const {
    IntVector small = sizes(mask.id);
    const IntVector& scores = mask.shape;
    if (small.size() > scores.size()) return false;
    small.insert(small.begin(), scores.size() - small.size(), 1);
    for (size_t d = 0; d < small.size(); ++d)
      if (small[d] != 1 && small[d] != scores[d]) return false;
    if (scores.size() < 5 || scores[0] == 1) return true;
    if (small[0] == scores[0]) return small[1] == scores[1];
    if (small[1] > 1) mask.use.batch_period = small[1];
    return true;
  }

  // A layer to stand before `at`; its result is a new value.
  Layer& make(const Layer& at, LayerKind kind, std::vector<int> inputs, IntVector sizes) {
    Layer layer;
    layer.kind = kind;
    layer.id = at.id;
    layer.inputs = std::move(inputs);
    layer.output = static_cast<int>(net_.values.size());
    Value value;
    value.sizes = std::move(sizes);
    value.dtype = net_.values[static_cast<size_t>(layer.inputs[0])].dtype;
    value.uses = 1;
    net_.values.push_back(std::move(value));
    producer_.push_back(nullptr);
    std::vector<Layer>& made = made_[at.output];
    made.push_back(std::move(layer));
    return made.back();
  }
  // The matrices of a value in the batch dimensions of the scores.
  int in_shape(const Layer& at, int id, const IntVector& shape) {
    const IntVector& given = sizes(id);
    const IntVector wanted{shape[0], shape[1], given[given.size() - 2], given.back()};
    return given == wanted ? id : make(at, LayerKind::kView, {id}, wanted).output;
  }

  // Keys by rows, of keys by columns.
  int turned_back(const Layer& at, int turned_key) {
    static const IntVector kSwapped{0, 1, 3, 2};
    const Layer* turn = producer_[static_cast<size_t>(turned_key)];
    if (turn != nullptr && turn->kind == LayerKind::kPermute && turn->order == kSwapped) {
      const int key = turn->inputs[0];
      if (net_.values[static_cast<size_t>(turned_key)].uses == 1) {
        dead_.push_back(turned_key);
      } else {
        ++net_.values[static_cast<size_t>(key)].uses;
      }
      return key;
    }
    IntVector by_rows(sizes(turned_key));
    std::swap(by_rows[2], by_rows[3]);
    const auto is_read_once = [&](int id) {
      return net_.values[static_cast<size_t>(id)].uses == 1;
    };
    if (turn != nullptr && turn->kind == LayerKind::kRepeat && turn->axis < 2 &&
        is_read_once(turned_key) && is_read_once(turn->inputs[0])) {
      const int key = turned_back(at, turn->inputs[0]);
      Layer& repeat = make(at, LayerKind::kRepeat, {key}, by_rows);
      repeat.axis = turn->axis;
      dead_.push_back(turned_key);
      return repeat.output;
    }
    Layer& back = make(at, LayerKind::kPermute, {turned_key}, by_rows);
    back.order = kSwapped;
    return back.output;
  }

  // A mask in four dimensions, scaled as the sum with it was.
  int mask_input(const Layer& at, const Mask& mask) {
    int id = mask.id;
    if (sizes(id).size() == 5) {
      IntVector four = sizes(id);
      four[1] *= four[0];
      four.erase(four.begin());
      id = make(at, LayerKind::kView, {id}, four).output;
    }
    if (mask.use.fills || mask.scale == 1) return id;
    Layer& scaled = make(at, LayerKind::kActivate, {id}, sizes(id));
    scaled.activation = {Function::kLinear, static_cast<float>(mask.scale), 0};
    return scaled.output;
  }

  void put_attention(Layer& layer, const Scores& scores) {
    int query = in_shape(layer, scores.product->inputs[0], scores.shape);
    if (scores.factors != nullptr) {
      Layer& scaled = make(layer, LayerKind::kAffine, {query}, sizes(query));
      scaled.axis = 1;
      scaled.scale = scores.factors->scale;
      scaled.shift.assign(scaled.scale.size(), 0);
      query = scaled.output;
    }
    const int key = turned_back(layer, in_shape(layer, scores.product->inputs[1], scores.shape));
    const int value = in_shape(layer, layer.inputs[1], scores.shape);
    std::vector<int> inputs{query, key, value};
    std::vector<LayerMask> masks;
    for (auto mask = scores.masks.rbegin(); mask != scores.masks.rend(); ++mask) {
      inputs.push_back(mask_input(layer, *mask));
      masks.push_back(mask->use);
      net_.values[static_cast<size_t>(mask->id)].uses -= mask->repeats;
    }
    const IntVector wanted{scores.shape[0], scores.shape[1], scores.shape[2], sizes(value).back()};
    const bool is_shaped = sizes(layer.output) == wanted;
    Layer& attention =
        is_shaped ? layer : make(layer, LayerKind::kAttention, std::move(inputs), wanted);
    if (is_shaped) {
      layer.kind = LayerKind::kAttention;
      layer.inputs = std::move(inputs);
    }
    attention.attention_scale = scores.scale;
    attention.is_written_out = true;
    attention.masks = std::move(masks);
    if (is_shaped) return;
    layer.kind = LayerKind::kView;
    layer.inputs = {attention.output};
  }

  void place_made() {
    if (made_.empty()) return;
    std::vector<Layer> layers;
    for (Layer& layer : net_.layers) {
      const auto found = made_.find(layer.output);
      if (found != made_.end())
        std::move(found->second.begin(), found->second.end(), std::back_inserter(layers));
      layers.push_back(std::move(layer));
    }
    net_.layers = std::move(layers);
  }

  std::map<int, std::vector<Layer>> made_;  // By the output of the layer that they stand before.
};

// Keys and values whose heads were repeated, each in its place, for the queries that share them.
class SharedHeadsFinder : private FormulaFinder {
 public:
  using FormulaFinder::FormulaFinder;

  void run() {
    for (Layer& layer : net_.layers) {
      if (layer.kind != LayerKind::kAttention) continue;
      const std::optional<int> key = before_repeat(layer.inputs[1]);
      const std::optional<int> value = before_repeat(layer.inputs[2]);
      if (!key || !value || heads(*key) != heads(*value)) continue;
      take(layer.inputs[1], *key);
      take(layer.inputs[2], *value);
    }
    remove_dead();
  }

 private:
  const IntVector& sizes(int id) const { return net_.values[static_cast<size_t>(id)].sizes; }
  int64_t heads(int id) const { return sizes(id)[1]; }
  const Layer* maker(int id, LayerKind kind) const {
    const Layer* layer = producer_[static_cast<size_t>(id)];
    return layer != nullptr && layer->kind == kind ? layer : nullptr;
  }

  // [batch, heads, rows, columns] made of [batch, fewer heads, 1, rows, columns], or of one head.
  std::optional<int> before_repeat(int id) const {
    const Layer* of_one = maker(id, LayerKind::kRepeat);
    if (of_one != nullptr && of_one->axis == 1 && sizes(id).size() == 4) return of_one->inputs[0];
    const Layer* joined = maker(id, LayerKind::kView);
    const Layer* repeat =
        joined == nullptr ? nullptr : maker(joined->inputs[0], LayerKind::kRepeat);
    if (repeat == nullptr || repeat->axis != 2) return std::nullopt;
    const IntVector& all = sizes(repeat->output);
    const IntVector& each = sizes(id);
    const Layer* apart = maker(repeat->inputs[0], LayerKind::kView);
    if (all.size() != 5 || each.size() != 4 || each[1] != all[1] * all[2] || each[2] != all[3] ||
        each[3] != all[4] || apart == nullptr) {
      return std::nullopt;
    }
    const IntVector fewer{all[0], all[1], all[3], all[4]};
    return sizes(apart->inputs[0]) == fewer ? std::optional<int>(apart->inputs[0]) : std::nullopt;
  }

  // Reads `source` in place of `input`, whose makers go where nothing reads them any more.
  void take(int& input, int source) {
    ++net_.values[static_cast<size_t>(source)].uses;
    for (int id = std::exchange(input, source); id != source;) {
      if (--net_.values[static_cast<size_t>(id)].uses > 0) return;
      dead_.push_back(id);
      id = producer_[static_cast<size_t>(id)]->inputs[0];
    }
    --net_.values[static_cast<size_t>(source)].uses;
  }
};

}  // namespace

void recognize_attention(LayerNet& net) {
  AttentionFinder(net).run();
  SharedHeadsFinder(net).run();
}

}  // namespace tierup::kernels::net
