#include "tierup/kernels/net/batch_cut.h"

#include <algorithm>

#include "tierup/base/machine.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/onednn/onednn_engine.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels::net {
namespace {

// The inputs with the batch as their first dimension; the others are the same for all entries.
bool is_of_batch(const IValue& input, int64_t entries) {
  const TensorImpl* tensor = input.tensor_impl();
  return tensor != nullptr && !tensor->sizes.empty() && tensor->sizes[0] == entries;
}

// Without data.
Tensor sized(const IntVector& sizes, ScalarType dtype) {
  return Tensor::from_storage(Storage::borrow(nullptr, 0, nullptr, Device{DeviceType::kMeta}),
                              dtype, sizes, contiguous_strides(sizes), 0);
}

// A number that is the batch's size, or a list with such numbers, for another size; else as it is.
IValue with_size(const IValue& input, int64_t entries, int64_t wanted) {
  if (input.is_int()) return input.to_int() == entries ? IValue(wanted) : input;
  if (!input.is_list()) return input;
  std::vector<IValue> items;
  for (const IValue& item : input.to_list().items)
    items.push_back(with_size(item, entries, wanted));
  return make_ref<ListValue>(input.to_list().element, std::move(items));
}

// Inputs for another number of entries.
std::vector<IValue> with_entries(std::span<const IValue> inputs, int64_t entries, int64_t wanted) {
  std::vector<IValue> result;
  for (const IValue& input : inputs) {
    if (!is_of_batch(input, entries)) {
      result.push_back(with_size(input, entries, wanted));
      continue;
    }
    IntVector sizes = input.tensor_impl()->sizes;
    sizes[0] = wanted;
    result.emplace_back(sized(sizes, input.tensor_impl()->dtype));
  }
  return result;
}

// Whether a net's layers take the entries of a batch one by one: seen from the same program for
// twice as many entries. A value of the batch has one dimension that is twice as long then, and
// nothing else that changes; what is a part of each entry stays so.
class EntryCheck {
 public:
  EntryCheck(const LayerNet& net, const LayerNet& twice) : net_(net), twice_(twice) {}

  bool run(std::span<const IValue> inputs, int64_t entries) {
    if (net_.values.size() != twice_.values.size() || net_.layers.size() != twice_.layers.size())
      return false;
    lies_.resize(net_.values.size());
    for (const auto& [index, id] : net_.inputs)
      if (is_of_batch(inputs[index], entries)) lies_[static_cast<size_t>(id)] = Lie{0, 1};
    for (size_t i = 0; i < net_.layers.size(); ++i)
      if (!is_same(net_.layers[i], twice_.layers[i]) || !visit(net_.layers[i])) return false;
    return std::ranges::all_of(net_.outputs, [&](int id) { return lie(id) && steps_to(id) == 1; });
  }

 private:
  // Where a value has the batch: in a dimension, of which one entry's stretches lie that many times
  // one behind the other.
  struct Lie {
    size_t dim = 0;
    int64_t times = 1;
    bool operator==(const Lie&) const = default;
  };
  const std::optional<Lie>& lie(int id) const { return lies_[static_cast<size_t>(id)]; }
  const IntVector& sizes(int id) const { return net_.values[static_cast<size_t>(id)].sizes; }
  int64_t before(int id, size_t dim) const {
    return numel_of(IntSpan(sizes(id).data(), sizes(id).size()).first(dim));
  }
  // How many stretches there are of an entry.
  int64_t steps_to(int id) const { return before(id, lie(id)->dim) * lie(id)->times; }
  // The dimension that is twice as long for twice as many entries, if that alone differs.
  std::optional<size_t> doubled(int id) const {
    const IntVector& twice = twice_.values[static_cast<size_t>(id)].sizes;
    if (sizes(id).size() != twice.size()) return std::nullopt;
    const auto [own, other] = std::ranges::mismatch(sizes(id), twice);
    if (own == sizes(id).end() || *other != 2 * *own) return std::nullopt;
    if (!std::equal(own + 1, sizes(id).end(), other + 1)) return std::nullopt;
    return static_cast<size_t>(own - sizes(id).begin());
  }
  bool keeps_sizes(int id) const {
    return std::ranges::equal(sizes(id), twice_.values[static_cast<size_t>(id)].sizes);
  }

  // What a layer does may not depend on the number of entries.
  static bool is_same(const Layer& a, const Layer& b) {
    return a.kind == b.kind && a.inputs == b.inputs && a.output == b.output && a.axis == b.axis &&
           std::ranges::equal(a.order, b.order) && a.first == b.first && a.step == b.step &&
           a.scale == b.scale && a.shift == b.shift && a.formula == b.formula &&
           a.groups == b.groups && a.eps == b.eps && a.fill == b.fill &&
           a.attention_scale == b.attention_scale && a.activation.alpha == b.activation.alpha &&
           a.activation.beta == b.activation.beta;
  }

  bool visit(const Layer& layer) {
    const bool reads_batch =
        std::ranges::any_of(layer.inputs, [&](int id) { return lie(id).has_value(); });
    std::optional<Lie>& result = lies_[static_cast<size_t>(layer.output)];
    if (!reads_batch) {
      if (keeps_sizes(layer.output)) return true;
      result = Lie{0, 1};  // The same for each entry.
      return layer.kind == LayerKind::kRepeat && layer.axis == 0 && doubled(layer.output) == 0U;
    }
    result = passed(layer);
    return result && doubled(layer.output) == result->dim;
  }

  // Where the result has the batch; none unless each of its entries is made of the same entry of
  // the operands.
  std::optional<Lie> passed(const Layer& layer) const {
    const std::optional<Lie> first = lie(layer.inputs[0]);
    const size_t rank = sizes(layer.output).size();
    const auto where = [&](bool condition) { return condition ? first : std::nullopt; };
    const bool lie_alike =
        std::ranges::all_of(layer.inputs, [&](int id) { return lie(id) == first; });
    switch (layer.kind) {
      case LayerKind::kBinary:
      case LayerKind::kFill: return broadcast(layer, rank);
      case LayerKind::kAttention: return where(first == Lie{0, 1} && attends_by_entries(layer));
      default: break;
    }
    if (!first || !lie_alike) return std::nullopt;
    switch (layer.kind) {
      case LayerKind::kConv:
      case LayerKind::kWeave:
      case LayerKind::kPool:
      case LayerKind::kOverPoints:
      case LayerKind::kGroupNorm:
      case LayerKind::kPoints:
      case LayerKind::kResample: return where(first == Lie{0, 1});
      case LayerKind::kActivate:
      case LayerKind::kFunction: return first;
      case LayerKind::kGemm:
      case LayerKind::kAffine:
      case LayerKind::kPrelu:
      case LayerKind::kSlice:
      case LayerKind::kGlu:
      case LayerKind::kRepeat:
      case LayerKind::kCat: return where(layer.axis != first->dim);
      case LayerKind::kBatchGemm: return where(first->dim + 2 < rank);
      case LayerKind::kOverRows:
      case LayerKind::kLayerNorm:
      case LayerKind::kRmsNorm:
      case LayerKind::kSoftmax: return where(first->dim + 1 < rank);
      case LayerKind::kPermute: {
        const auto place = std::ranges::find(layer.order, static_cast<int64_t>(first->dim));
        return Lie{static_cast<size_t>(place - layer.order.begin()), first->times};
      }
      case LayerKind::kView: return viewed(layer);
      default: return std::nullopt;
    }
  }

  // Elements stay where they are.
  std::optional<Lie> viewed(const Layer& layer) const {
    const std::optional<size_t> dim = doubled(layer.output);
    const int64_t steps = steps_to(layer.inputs[0]);
    if (!dim || steps % before(layer.output, *dim) != 0) return std::nullopt;
    return Lie{*dim, steps / before(layer.output, *dim)};
  }

  // To a result of this rank, in which an entry meets itself, or what is the same for all.
  std::optional<Lie> broadcast(const Layer& layer, size_t rank) const {
    std::optional<Lie> result;
    for (const int id : layer.inputs) {
      std::optional<Lie> own = lie(id);
      if (!own) continue;
      own->dim += rank - sizes(id).size();
      if (result && own != result) return std::nullopt;
      result = own;
    }
    for (const int id : layer.inputs) {
      const size_t missing = rank - sizes(id).size();
      if (!lie(id) && result->dim >= missing && sizes(id)[result->dim - missing] != 1)
        return std::nullopt;
    }
    return result;
  }

  // The inputs behind query, key and value are masks.
  bool attends_by_entries(const Layer& layer) const {
    for (size_t i = 0; i < layer.inputs.size(); ++i) {
      const int id = layer.inputs[i];
      const bool is_for_all = i > 2 && !lie(id) && (sizes(id).size() < 3 || sizes(id)[0] == 1);
      const bool begins_anew = i > 2 && layer.masks[i - 3].batch_period != 0;
      if (begins_anew || !(is_for_all || lie(id) == Lie{0, 1})) return false;
    }
    return true;
  }

  const LayerNet& net_;
  const LayerNet& twice_;
  std::vector<std::optional<Lie>> lies_;
};

int64_t lanes() {
  switch (instruction_set()) {
    case InstructionSet::kBase: return 4;
    case InstructionSet::kAvx2: return 8;
    case InstructionSet::kAvx512: break;
  }
  return 16;
}

}  // namespace

MovedBytes::MovedBytes(const LayerNet& net, int64_t entries, int threads, Caches caches,
                       int64_t lanes)
    : entries_(static_cast<double>(entries)),
      threads_(threads),
      caches_(caches),
      lanes_(static_cast<double>(lanes)) {
  const auto count = [&](int id) { return numel_of(net.values[static_cast<size_t>(id)].sizes); };
  for (const Layer& layer : net.layers) {
    if (is_view(layer)) continue;
    int64_t numbers = count(layer.output);
    for (const int input : layer.inputs) numbers += count(input);
    int64_t multiplications = 0;
    LayerSizes sizes;
    if (layer.weight.defined()) {
      const int64_t channels = layer.weight.size(layer.kind == LayerKind::kGemm ? 1 : 0);
      const int64_t rows = count(layer.output) / channels;
      sizes.rows = static_cast<double>(rows);
      sizes.weights = static_cast<double>(layer.weight.bytes());
      multiplications = rows * layer.weight.numel();
    }
    sizes.numbers = static_cast<double>(numbers) * sizeof(float);
    sizes.is_shared = threads > 1 && threads_worth(multiplications, numbers) > 1;
    weights_ += sizes.weights;
    layers_.push_back(sizes);
  }
}

// Of pieces that are this share of the batch, one on each thread.
double MovedBytes::of_numbers(double share) const {
  double moved = 0;
  for (const LayerSizes& layer : layers_) {
    const double near = layer.numbers * share;
    if (near + layer.weights > static_cast<double>(caches_.own)) moved += layer.numbers;
    if (threads_ * near + layer.weights > static_cast<double>(caches_.shared))
      moved += layer.numbers;
  }
  return moved;
}

// A core multiplies two vectors a cycle, and gets about two numbers from a cache that it shares: it
// waits for all weights where fewer rows read them than a vector has lanes, and for the less of
// them the more rows do.
double MovedBytes::of_weights(double share) const {
  if (weights_ <= static_cast<double>(caches_.own)) return 0;
  double moved = 0;
  for (const LayerSizes& layer : layers_)
    moved += layer.weights * std::min(1.0, lanes_ / std::max(layer.rows * share, 1.0));
  return weights_ > static_cast<double>(caches_.shared) ? 2 * moved : moved;
}

// A team begins and ends while each of its threads could move a half of kBytesForThread, and waits
// about as long for its last thread.
double MovedBytes::of_whole() const {
  const auto barriers = static_cast<double>(std::ranges::count_if(layers_, &LayerSizes::is_shared));
  return of_numbers(1 / threads_) + of_weights(1) + barriers * threads_ * kBytesForThread;
}

// To begin a layer takes a part of a microsecond.
double MovedBytes::of_pieces(int64_t piece) const {
  const double share = static_cast<double>(piece) / entries_;
  const double begun = static_cast<double>(layers_.size()) / share;
  return of_numbers(share) + of_weights(share) / share + begun * kBytesForThread / 16;
}

int64_t entries_of(std::span<const IValue> inputs) {
  for (const IValue& input : inputs) {
    const TensorImpl* tensor = input.tensor_impl();
    if (tensor != nullptr && tensor->sizes.size() > 1) return tensor->sizes[0];
  }
  return 1;
}

// Where numbers that the batch's size went into are among the inputs, twice as many entries do not
// fit them.
bool goes_by_entries(const LayerNet& net, const Program& program, std::span<const IValue> inputs) {
  const int64_t entries = entries_of(inputs);
  try {
    const LayerNet twice = resolve(program, with_entries(inputs, entries, 2 * entries));
    return entries > 1 && EntryCheck(net, twice).run(inputs, entries);
  } catch (const Error&) {
    return false;
  }
}

std::optional<BatchCut> best_cut(const LayerNet& net, int64_t entries, int threads) {
  const MovedBytes moved(net, entries, threads,
                         {cache_sizes().second_level, cache_sizes().last_level / 2}, lanes());
  BatchCut best{entries, entries};
  double least = moved.of_whole();
  for (int64_t piece = entries / threads; piece > 0; --piece) {
    if (entries % (piece * threads) != 0) continue;
    const double bytes = moved.of_pieces(piece);
    if (bytes >= least) continue;
    least = bytes;
    best.piece = piece;
  }
  return best.piece < entries ? std::optional(best) : std::nullopt;
}

std::vector<IValue> sizes_of_piece(const BatchCut& cut, std::span<const IValue> inputs) {
  return with_entries(inputs, cut.entries, cut.piece);
}

std::vector<IValue> inputs_of(const BatchCut& cut, std::span<const IValue> inputs, int64_t piece) {
  std::vector<IValue> result;
  for (const IValue& input : inputs) {
    if (!is_of_batch(input, cut.entries)) {
      result.push_back(with_size(input, cut.entries, cut.piece));
      continue;
    }
    const Tensor whole = input.to_tensor();
    IntVector sizes(whole.sizes().begin(), whole.sizes().end());
    sizes[0] = cut.piece;
    result.emplace_back(
        whole.as_view(sizes, contiguous_strides(sizes), whole.offset() + piece * numel_of(sizes)));
  }
  return result;
}

}  // namespace tierup::kernels::net
