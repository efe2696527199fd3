#include "tierup/api/model/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>

#include "tierup/base/error.h"
#include "tierup/frontend/torchscript/module_loader.h"

namespace tierup::api {
namespace {

using Sizes = std::vector<int64_t>;
// Two tensors with one key are one weight under two names.
using ViewKey = std::tuple<const Storage*, int64_t, Sizes, Sizes>;

ViewKey view_key(const Tensor& tensor) {
  return {tensor.storage().get(), tensor.offset(),
          Sizes(tensor.sizes().begin(), tensor.sizes().end()),
          Sizes(tensor.strides().begin(), tensor.strides().end())};
}

std::string describe(const Tensor& tensor) {
  return fmt::format("{}{}", dtype_name(tensor.dtype()), shape_string(tensor.sizes()));
}

struct Replacements {
  std::map<std::string, Tensor> by_name;
  std::map<ViewKey, Tensor> by_view;
  std::set<const Storage*> storages;
};

// Every misfit as a line of the message, before anything is made.
Replacements match_weights(const ObjectValue& root, const archive::NamedTensors& weights,
                           bool strict) {
  const auto own = frontend::torchscript::named_tensors(root);
  std::map<std::string, Tensor> by_name;
  for (const auto& named : own) by_name.emplace(named.name, named.tensor);
  Replacements result;
  std::string problems;
  std::set<ViewKey> misfits;
  for (const auto& [name, tensor] : weights) {
    const auto found = by_name.find(name);
    if (found == by_name.end()) {
      if (strict) problems += fmt::format("\n- unexpected: {}", name);
      continue;
    }
    const Tensor& old = found->second;
    if (old.dtype() != tensor.dtype() || !std::ranges::equal(old.sizes(), tensor.sizes())) {
      problems += fmt::format("\n- {}: expected {}, got {}", name, describe(old), describe(tensor));
      misfits.insert(view_key(old));
      continue;
    }
    result.by_name.emplace(name, tensor);
    result.by_view.emplace(view_key(old), tensor);
    result.storages.insert(old.storage().get());
  }
  for (const auto& named : own) {
    const ViewKey key = view_key(named.tensor);
    if (!strict || result.by_view.contains(key) || misfits.contains(key)) continue;
    problems += fmt::format("\n- missing: {}", named.name);
  }
  require(problems.empty(), ErrorCode::kInvalidArgument, "the weights do not fit the model:{}",
          problems);
  return result;
}

// Copies the modules, and of other containers those that hold a replaced tensor.
class TreeCloner {
 public:
  explicit TreeCloner(const Replacements& replacements) : replacements_(replacements) {}

  Ref<ObjectValue> clone_module(const Ref<ObjectValue>& module, const std::string& path) {
    const auto known = objects_.find(module.get());
    if (known != objects_.end()) return known->second;
    auto copy = make_ref<ObjectValue>(module->type);
    objects_.emplace(module.get(), copy);
    const auto& attributes = module->type->attributes();
    for (size_t i = 0; i < module->slots.size(); ++i) {
      const std::string name = (path.empty() ? "" : path + ".") + attributes[i].name;
      copy->slots[i] = clone(module->slots[i], name);
    }
    return copy;
  }

 private:
  IValue clone(const IValue& value, const std::string& path) {
    switch (value.tag()) {
      case IValue::Tag::kTensor: return successor(value.to_tensor(), path);
      case IValue::Tag::kList:
      case IValue::Tag::kTuple:
      case IValue::Tag::kDict:
      case IValue::Tag::kObject: break;
      default: return value;
    }
    if (value.is_object() && value.to_object().type->is_module()) {
      return clone_module(value.object_ref(), path);
    }
    seen_.clear();
    return holds_replaced(value) ? clone_container(value, path) : value;
  }

  IValue successor(const Tensor& tensor, const std::string& path) const {
    const auto named = replacements_.by_name.find(path);
    if (named != replacements_.by_name.end()) return named->second;
    const auto same = replacements_.by_view.find(view_key(tensor));
    if (same != replacements_.by_view.end()) return same->second;
    require(!replacements_.storages.contains(tensor.storage().get()), ErrorCode::kUnsupported,
            "'{}' is a view of a weight that is to be replaced; give it, too", path);
    return tensor;
  }

  bool holds_replaced(const IValue& value) {
    const auto any = [&](const std::vector<IValue>& items) {
      return std::any_of(items.begin(), items.end(),
                         [&](const IValue& item) { return holds_replaced(item); });
    };
    switch (value.tag()) {
      case IValue::Tag::kTensor:
        return replacements_.storages.contains(value.to_tensor().storage().get());
      case IValue::Tag::kList: return seen(&value.to_list()) ? false : any(value.to_list().items);
      case IValue::Tag::kTuple: return any(value.to_tuple().items);
      case IValue::Tag::kObject:
        return seen(&value.to_object()) ? false : any(value.to_object().slots);
      case IValue::Tag::kDict: {
        if (seen(&value.to_dict())) return false;
        const auto entries = value.to_dict().entries();
        return std::any_of(entries.begin(), entries.end(),
                           [&](const auto& entry) { return holds_replaced(entry.second); });
      }
      default: return false;
    }
  }

  bool seen(const RefCounted* container) { return !seen_.insert(container).second; }

  std::vector<IValue> clone_items(const std::vector<IValue>& items, const std::string& path) {
    std::vector<IValue> result;
    for (size_t i = 0; i < items.size(); ++i) {
      result.push_back(clone_inner(items[i], fmt::format("{}[{}]", path, i)));
    }
    return result;
  }

  IValue clone_inner(const IValue& value, const std::string& path) {
    if (value.is_tensor()) return successor(value.to_tensor(), path);
    if (value.is_object() && value.to_object().type->is_module()) {
      return clone_module(value.object_ref(), path);
    }
    return clone_container(value, path);
  }

  // Containers that appear twice stay one, and those that hold themselves end.
  IValue clone_container(const IValue& value, const std::string& path) {
    switch (value.tag()) {
      case IValue::Tag::kList: {
        const auto known = containers_.find(&value.to_list());
        if (known != containers_.end()) return known->second;
        auto copy = make_ref<ListValue>(value.to_list().element);
        containers_.emplace(&value.to_list(), IValue(copy));
        copy->items = clone_items(value.to_list().items, path);
        return copy;
      }
      case IValue::Tag::kTuple:
        return make_ref<TupleValue>(clone_items(value.to_tuple().items, path),
                                    value.to_tuple().named);
      case IValue::Tag::kObject: {
        const auto known = containers_.find(&value.to_object());
        if (known != containers_.end()) return known->second;
        auto copy = make_ref<ObjectValue>(value.to_object().type);
        containers_.emplace(&value.to_object(), IValue(copy));
        copy->slots = clone_items(value.to_object().slots, path);
        return copy;
      }
      case IValue::Tag::kDict: {
        const auto known = containers_.find(&value.to_dict());
        if (known != containers_.end()) return known->second;
        auto copy = make_ref<DictValue>(value.to_dict().key, value.to_dict().value);
        containers_.emplace(&value.to_dict(), IValue(copy));
        for (const auto& [key, item] : value.to_dict().entries()) {
          copy->set(key, clone_inner(item, fmt::format("{}[{}]", path, to_text(key))));
        }
        return copy;
      }
      default: return value;
    }
  }

  const Replacements& replacements_;
  std::unordered_map<const ObjectValue*, Ref<ObjectValue>> objects_;
  std::unordered_map<const RefCounted*, IValue> containers_;
  std::set<const RefCounted*> seen_;
};

}  // namespace

Ref<ObjectValue> clone_with_weights(const Ref<ObjectValue>& root,
                                    const archive::NamedTensors& weights, bool strict) {
  return TreeCloner(match_weights(*root, weights, strict)).clone_module(root, "");
}

}  // namespace tierup::api
