#include "tierup/profile/graph_profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierup::profile {
namespace {

// A later sighting that disagrees empties the fact for good.
template <typename T>
void agree(std::optional<T>& fact, const std::optional<T>& seen, bool first) {
  if (first) {
    fact = seen;
  } else if (fact != seen) {
    fact.reset();
  }
}

uint64_t mix(uint64_t history, int64_t value) {
  uint64_t x = history ^ (static_cast<uint64_t>(value) + 0x9e3779b97f4a7c15ULL + (history << 6) +
                          (history >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

std::string_view order_name(MemoryOrder order) {
  switch (order) {
    case MemoryOrder::kContiguous: return "contiguous";
    case MemoryOrder::kChannelsLast: return "channels_last";
    case MemoryOrder::kStrided: return "strided";
  }
  return "strided";
}

std::string dims_text(const std::vector<Dim>& dims) {
  std::string text;
  for (const Dim& dim : dims) {
    if (!text.empty()) text += ", ";
    text +=
        dim.kind == Dim::Kind::kSymbol ? fmt::format("s{}", dim.value) : std::to_string(dim.value);
  }
  return text;
}

}  // namespace

MemoryOrder memory_order_of(const TensorImpl& tensor) {
  if (tensor.contiguous) return MemoryOrder::kContiguous;
  const size_t rank = tensor.sizes.size();
  if (rank != 4 && rank != 5) return MemoryOrder::kStrided;
  const IntVector wanted = strides_for(
      tensor.sizes, rank == 4 ? MemoryFormat::kChannelsLast : MemoryFormat::kChannelsLast3d);
  for (size_t d = 0; d < rank; ++d) {
    if (tensor.sizes[d] != 1 && tensor.strides[d] != wanted[d]) return MemoryOrder::kStrided;
  }
  return MemoryOrder::kChannelsLast;
}

void ValueProfile::record(const IValue& value) {
  const TensorImpl* tensor = value.tensor_impl();
  const Kind seen =
      tensor != nullptr ? Kind::kTensor : (value.is_none() ? Kind::kNone : Kind::kOther);
  const bool first = kind == Kind::kUnseen;
  agree(truth, value.is_bool() ? std::optional<bool>(value.to_bool()) : std::nullopt, first);
  if (tensor != nullptr && (first || kind == Kind::kTensor)) record_tensor(*tensor);
  kind = first || kind == seen ? seen : Kind::kMixed;
}

void ValueProfile::record_tensor(const TensorImpl& tensor) {
  const bool first = kind == Kind::kUnseen;
  agree(dtype, std::optional<ScalarType>(tensor.dtype), first);
  agree(order, std::optional<MemoryOrder>(memory_order_of(tensor)), first);
  agree(requires_grad, std::optional<bool>(tensor.requires_grad), first);
  agree(strides, tensor.contiguous ? std::nullopt : std::optional(tensor.strides), first);
  const size_t seen_rank = tensor.sizes.size();
  agree(rank, std::optional<size_t>(seen_rank), first);
  if (!rank) {
    dims.clear();
    return;
  }
  if (first) dims.resize(seen_rank);
  for (size_t d = 0; d < seen_rank; ++d) {
    DimHistory& dim = dims[d];
    if (!first && dim.last == tensor.sizes[d]) continue;
    dim.varied = !first;
    dim.last = tensor.sizes[d];
    dim.history = mix(dim.history, dim.last);
  }
}

void ValueProfile::merge(const ValueProfile& run) {
  if (run.kind == Kind::kUnseen) return;
  const bool first = kind == Kind::kUnseen;
  agree(truth, run.truth, first);
  agree(dtype, run.dtype, first);
  agree(order, run.order, first);
  agree(requires_grad, run.requires_grad, first);
  agree(strides, run.strides, first);
  agree(rank, run.rank, first);
  if (first) {
    dims = run.dims;
  } else if (!rank) {
    dims.clear();
  } else {
    for (size_t d = 0; d < dims.size(); ++d) {
      dims[d].varied = dims[d].varied || run.dims[d].varied || dims[d].last != run.dims[d].last;
      dims[d].last = run.dims[d].last;
      dims[d].history = mix(dims[d].history, static_cast<int64_t>(run.dims[d].history));
    }
  }
  kind = first || kind == run.kind ? run.kind : Kind::kMixed;
}

TensorFacts ValueProfile::facts() const {
  TensorFacts facts;
  facts.dtype = dtype;
  facts.device = Device{};
  facts.requires_grad = requires_grad;
  if (!rank) return facts;
  facts.sizes.emplace();
  for (const DimHistory& dim : dims) {
    facts.sizes->push_back(dim.varied ? Dim{} : Dim{Dim::Kind::kStatic, dim.last});
  }
  if (strides && strides->size() == *rank) {
    facts.strides.emplace();
    for (const int64_t stride : *strides) facts.strides->push_back(Dim{Dim::Kind::kStatic, stride});
  }
  return facts;
}

TypePtr ValueProfile::type(bool is_static) const {
  if (kind != Kind::kTensor) return nullptr;
  TensorFacts guarded = facts();
  guarded.strides.reset();
  if (guarded.sizes) {
    for (size_t d = 0; d < dims.size(); ++d)
      (*guarded.sizes)[d] = is_static ? Dim{Dim::Kind::kStatic, dims[d].last} : Dim{};
  }
  return Type::tensor_with(std::move(guarded));
}

void GraphProfile::record(std::span<const IValue> arguments) {
  GraphProfile run(arguments.size(), 0, 0, 0);
  for (size_t i = 0; i < arguments.size(); ++i) run.arguments_[i].record(arguments[i]);
  run.run_count_ = 1;
  merge(run);
}

void GraphProfile::merge(const GraphProfile& run) {
  if (run_count_ == 0) arguments_.resize(run.arguments_.size());
  if (values_.empty()) {
    values_.resize(run.values_.size());
    times_.resize(run.times_.size());
    branches_.resize(run.branches_.size());
    loops_.resize(run.loops_.size());
  }
  run_count_ += run.run_count_;
  for (size_t i = 0; i < arguments_.size() && i < run.arguments_.size(); ++i)
    arguments_[i].merge(run.arguments_[i]);
  for (size_t i = 0; i < run.values_.size(); ++i) values_[i].merge(run.values_[i]);
  for (size_t i = 0; i < run.times_.size(); ++i) {
    const TimeProfile& seen = run.times_[i];
    const bool is_first = times_[i].executions == 0;
    if (seen.executions > 0 && (is_first || seen.each() < times_[i].each())) times_[i] = seen;
  }
  for (size_t i = 0; i < run.branches_.size(); ++i) {
    branches_[i].taken += run.branches_[i].taken;
    branches_[i].left += run.branches_[i].left;
  }
  for (size_t i = 0; i < run.loops_.size(); ++i) {
    const TripProfile& seen = run.loops_[i];
    TripProfile& total = loops_[i];
    if (seen.entries == 0) continue;
    total.least = total.entries == 0 ? seen.least : std::min(total.least, seen.least);
    total.most = std::max(total.most, seen.most);
    total.entries += seen.entries;
  }
}

std::vector<Dim> GraphProfile::symbols_of(size_t argument) const {
  std::vector<uint64_t> histories;
  std::vector<Dim> dims;
  for (size_t a = 0; a <= argument; ++a) {
    for (const DimHistory& dim : arguments_[a].dims) {
      auto known = std::find(histories.begin(), histories.end(), dim.history);
      if (known == histories.end()) known = histories.insert(histories.end(), dim.history);
      if (a < argument) continue;
      dims.push_back(dim.varied ? Dim{Dim::Kind::kSymbol, known - histories.begin()}
                                : Dim{Dim::Kind::kStatic, dim.last});
    }
  }
  return dims;
}

std::string GraphProfile::to_string() const {
  std::string text;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ValueProfile& profile = arguments_[i];
    text += fmt::format("{}: ", i);
    switch (profile.kind) {
      case ValueProfile::Kind::kUnseen: text += "unseen"; break;
      case ValueProfile::Kind::kNone: text += "None"; break;
      case ValueProfile::Kind::kOther: text += "value"; break;
      case ValueProfile::Kind::kMixed: text += "mixed"; break;
      case ValueProfile::Kind::kTensor:
        text += profile.dtype ? dtype_name(*profile.dtype) : "any dtype";
        text += "[" + dims_text(symbols_of(i)) + "]";
        if (profile.order) text += fmt::format(" {}", order_name(*profile.order));
        break;
    }
    text += "\n";
  }
  for (size_t i = 0; i < branches_.size(); ++i) {
    text +=
        fmt::format("if {}: {} times true, {} false\n", i, branches_[i].taken, branches_[i].left);
  }
  for (size_t i = 0; i < loops_.size(); ++i) {
    text += fmt::format("loop {}: {} to {} trips, entered {} times\n", i, loops_[i].least,
                        loops_[i].most, loops_[i].entries);
  }
  return text;
}

}  // namespace tierup::profile
