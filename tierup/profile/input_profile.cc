#include "tierup/profile/input_profile.h"

#include <fmt/format.h>

#include <algorithm>

namespace tierup::profile {
namespace {

// A later run that disagrees empties the fact for good.
template <typename T>
void merge(std::optional<T>& fact, const T& seen, bool first) {
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

void InputProfile::record(std::span<const IValue> arguments) {
  if (run_count_ == 0) arguments_.resize(arguments.size());
  for (size_t i = 0; i < arguments.size() && i < arguments_.size(); ++i) {
    ArgumentProfile& profile = arguments_[i];
    const IValue& value = arguments[i];
    using Kind = ArgumentProfile::Kind;
    const TensorImpl* tensor = value.tensor_impl();
    const Kind kind =
        tensor != nullptr ? Kind::kTensor : (value.is_none() ? Kind::kNone : Kind::kOther);
    const bool first = profile.kind == Kind::kUnseen;
    if (value.is_bool()) {
      merge(profile.truth, value.to_bool(), first);
    } else {
      profile.truth.reset();
    }
    if (tensor != nullptr && (first || profile.kind == Kind::kTensor))
      record_tensor(profile, *tensor);
    profile.kind = first || profile.kind == kind ? kind : Kind::kMixed;
  }
  ++run_count_;
}

void InputProfile::record_tensor(ArgumentProfile& profile, const TensorImpl& tensor) {
  const bool first = profile.kind == ArgumentProfile::Kind::kUnseen;
  merge(profile.dtype, tensor.dtype, first);
  merge(profile.order, memory_order_of(tensor), first);
  merge(profile.requires_grad, tensor.requires_grad, first);
  const size_t rank = tensor.sizes.size();
  merge(profile.rank, rank, first);
  if (!profile.rank) {
    profile.dims.clear();
    return;
  }
  if (first) profile.dims.resize(rank);
  for (size_t d = 0; d < rank; ++d) {
    DimHistory& dim = profile.dims[d];
    dim.varied = dim.varied || (!first && dim.last != tensor.sizes[d]);
    dim.last = tensor.sizes[d];
    dim.history = mix(dim.history, tensor.sizes[d]);
  }
}

TypePtr InputProfile::type_of(size_t argument, bool is_static) const {
  const ArgumentProfile& profile = arguments_[argument];
  if (profile.kind != ArgumentProfile::Kind::kTensor) return nullptr;
  TensorFacts facts;
  facts.dtype = profile.dtype;
  facts.device = Device{};
  facts.requires_grad = profile.requires_grad;
  if (profile.rank) {
    std::vector<Dim> dims;
    for (const DimHistory& dim : profile.dims) {
      dims.push_back(is_static ? Dim{Dim::Kind::kStatic, dim.last} : Dim{});
    }
    facts.sizes = std::move(dims);
  }
  return Type::tensor_with(std::move(facts));
}

std::vector<Dim> InputProfile::symbols_of(size_t argument) const {
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

std::string InputProfile::to_string() const {
  std::string text;
  for (size_t i = 0; i < arguments_.size(); ++i) {
    const ArgumentProfile& profile = arguments_[i];
    text += fmt::format("{}: ", i);
    switch (profile.kind) {
      case ArgumentProfile::Kind::kUnseen: text += "unseen"; break;
      case ArgumentProfile::Kind::kNone: text += "None"; break;
      case ArgumentProfile::Kind::kOther: text += "value"; break;
      case ArgumentProfile::Kind::kMixed: text += "mixed"; break;
      case ArgumentProfile::Kind::kTensor:
        text += profile.dtype ? dtype_name(*profile.dtype) : "any dtype";
        text += "[" + dims_text(symbols_of(i)) + "]";
        if (profile.order) text += fmt::format(" {}", order_name(*profile.order));
        break;
    }
    text += "\n";
  }
  return text;
}

}  // namespace tierup::profile
