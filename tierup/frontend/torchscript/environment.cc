// See environment.h.
#include "tierup/frontend/torchscript/environment.h"

namespace tierup::frontend::torchscript {

Sugared Sugared::of(ir::Value* value) {
  Sugared result;
  result.kind = Kind::kValue;
  result.value = value;
  return result;
}

Sugared Sugared::of(Kind kind, std::string text) {
  Sugared result;
  result.kind = kind;
  result.text = std::move(text);
  return result;
}

Sugared Sugared::of(Ref<ScriptFunction> function) {
  Sugared result;
  result.kind = Kind::kFunction;
  result.function = std::move(function);
  return result;
}

Sugared Sugared::of(TypePtr type) {
  Sugared result;
  result.kind = Kind::kType;
  result.type = std::move(type);
  return result;
}

Sugared Sugared::bound(Kind kind, ir::Value* value, std::string text) {
  Sugared result = of(kind, std::move(text));
  result.value = value;
  return result;
}

size_t Frame::place_of(std::string_view name) const {
  if (bindings_.size() > kMostSearched) {
    const auto found = index_.find(name);
    return found == index_.end() ? bindings_.size() : found->second;
  }
  size_t i = 0;
  while (i < bindings_.size() && bindings_[i].first != name) ++i;
  return i;
}

const Binding* Frame::find_here(std::string_view name) const {
  const size_t place = place_of(name);
  return place == bindings_.size() ? nullptr : &bindings_[place].second;
}

const Binding* Frame::find(std::string_view name) const {
  for (const Frame* frame = this; frame != nullptr; frame = frame->parent_) {
    if (const Binding* found = frame->find_here(name)) return found;
  }
  return nullptr;
}

void Frame::bind(std::string_view name, Sugared meaning, bool is_refinement) {
  const size_t place = place_of(name);
  if (place == bindings_.size()) {
    bindings_.emplace_back(name, Binding{std::move(meaning), is_refinement});
    if (bindings_.size() <= kMostSearched) return;
    for (size_t i = index_.size(); i < bindings_.size(); ++i) index_.emplace(bindings_[i].first, i);
  } else {
    // A refinement of something assigned here stays an assignment.
    Binding& binding = bindings_[place].second;
    binding.is_refinement = is_refinement && binding.is_refinement;
    binding.meaning = std::move(meaning);
  }
}

void Frame::unbind(std::string_view name) {
  bind(name, Sugared::invalid("undefined value " + std::string(name)));
}

}  // namespace tierup::frontend::torchscript
