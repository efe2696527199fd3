// The questions asked of an AliasAnalysis; alias_build.cc fills it.
#include "tierup/analysis/alias.h"

#include <algorithm>
#include <unordered_set>

#include "tierup/analysis/effects.h"

namespace tierup::analysis {

using ir::Node;
using ir::NodeKind;
using ir::Value;

// Values of this type may be of several others.
bool is_open(const Type& type) {
  switch (type.kind()) {
    case TypeKind::kAny:
    case TypeKind::kVar:
    case TypeKind::kUnion:
    case TypeKind::kInterface:
    case TypeKind::kAnyList:
    case TypeKind::kAnyTuple:
    case TypeKind::kAnyClass:
    case TypeKind::kCapsule: return true;
    default: return false;
  }
}

bool types_may_alias(const TypePtr& a, const TypePtr& b) {
  if (a->is(TypeKind::kOptional)) return types_may_alias(a->element(), b);
  if (b->is(TypeKind::kOptional)) return types_may_alias(a, b->element());
  if (is_open(*a) || is_open(*b)) return is_mutable(a) && is_mutable(b);
  if (a->kind() != b->kind() || !is_mutable(a) || !is_mutable(b)) return false;
  if (a->is(TypeKind::kClass)) return a == b;
  if (a->elements().size() != b->elements().size()) return false;
  for (size_t i = 0; i < a->elements().size(); ++i) {
    const TypePtr& x = a->element(i);
    const TypePtr& y = b->element(i);
    if (is_mutable(x) || is_mutable(y) ? !types_may_alias(x, y)
                                       : x->kind() != y->kind() && !is_open(*x) && !is_open(*y)) {
      return false;
    }
  }
  return true;
}

LocationSet AliasAnalysis::contents_of(const LocationSet& set) const {
  LocationSet result;
  for (const uint32_t location : set) {
    const LocationSet& inner = locations_[location].contents;
    result.insert(result.end(), inner.begin(), inner.end());
  }
  std::sort(result.begin(), result.end());
  result.erase(std::unique(result.begin(), result.end()), result.end());
  return result;
}

LocationSet AliasAnalysis::reachable(const LocationSet& set) const {
  const auto is_flat = [&](uint32_t location) { return locations_[location].contents.empty(); };
  if (std::all_of(set.begin(), set.end(), is_flat)) return set;
  std::vector<uint32_t> pending(set.begin(), set.end());
  std::unordered_set<uint32_t> seen(set.begin(), set.end());
  while (!pending.empty()) {
    const uint32_t location = pending.back();
    pending.pop_back();
    for (const uint32_t inner : locations_[location].contents) {
      if (seen.insert(inner).second) pending.push_back(inner);
    }
  }
  LocationSet result(seen.begin(), seen.end());
  std::sort(result.begin(), result.end());
  return result;
}

const LocationSet& AliasAnalysis::locations(const Value* value) const {
  static const LocationSet kNone;
  const auto id = static_cast<size_t>(value->id());
  return id < values_.size() ? values_[id] : kNone;
}

const AliasAnalysis::Access& AliasAnalysis::access(const Node* node) const {
  const auto found = accesses_.find(node);
  TIERUP_CHECK(found != accesses_.end());
  return found->second;
}

const LocationSet& AliasAnalysis::written(const Node* node) const { return access(node).writes; }
const LocationSet& AliasAnalysis::read(const Node* node) const { return access(node).reads; }

bool AliasAnalysis::is_wild(const LocationSet& set) const {
  return std::any_of(set.begin(), set.end(),
                     [&](uint32_t location) { return locations_[location].escaped; });
}

bool AliasAnalysis::intersect(const LocationSet& a, const LocationSet& b) const {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i] == b[j]) return true;
    ++(a[i] < b[j] ? i : j);
  }
  return false;
}

bool AliasAnalysis::may_alias(const Value* a, const Value* b) const {
  if (a == b) return is_mutable(a->type());
  const LocationSet& x = locations(a);
  const LocationSet& y = locations(b);
  const bool meet = intersect(x, y) || (is_wild(x) && is_wild(y));
  return meet && types_may_alias(a->type(), b->type());
}

bool AliasAnalysis::is_wildcard(const Value* value) const { return is_wild(locations(value)); }

bool AliasAnalysis::leaves(const Value* value) const {
  const LocationSet& set = locations(value);
  return std::any_of(set.begin(), set.end(), [&](uint32_t location) {
    return locations_[location].escaped || locations_[location].returned;
  });
}

// Whether some operand that the node writes is of a type that `value` may alias.
static bool writes_type_of(const Node& node, const Value& value) {
  if (node.is(NodeKind::kSetAttr)) return types_may_alias(node.input(0)->type(), value.type());
  if (!node.is(NodeKind::kOp)) return true;
  const ir::Schema& schema = node.op()->schema();
  for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i) {
    const TypePtr& type = node.input(i)->type();
    if (schema.arguments[i].alias.is_write && types_may_alias(type, value.type())) return true;
    if (schema.arguments[i].element_alias.is_write && !type->elements().empty() &&
        types_may_alias(type->element(), value.type())) {
      return true;
    }
  }
  return false;
}

std::vector<const Node*> AliasAnalysis::writers(const Value* value) const {
  const LocationSet& set = locations(value);
  std::vector<uint32_t> indices;
  for (const uint32_t location : set) {
    const std::vector<uint32_t>& more = locations_[location].writers;
    indices.insert(indices.end(), more.begin(), more.end());
  }
  if (is_wild(set)) {
    std::copy_if(wild_writers_.begin(), wild_writers_.end(), std::back_inserter(indices),
                 [&](uint32_t index) { return writes_type_of(*writing_nodes_[index], *value); });
  }
  std::sort(indices.begin(), indices.end());
  indices.erase(std::unique(indices.begin(), indices.end()), indices.end());
  std::vector<const Node*> result;
  for (const uint32_t index : indices) result.push_back(writing_nodes_[index]);
  return result;
}

bool AliasAnalysis::is_written(const LocationSet& set) const {
  return std::any_of(set.begin(), set.end(),
                     [&](uint32_t location) { return !locations_[location].writers.empty(); });
}

bool AliasAnalysis::has_writers(const Value* value) const {
  const LocationSet& set = locations(value);
  if (is_written(set)) return true;
  return is_wild(set) && std::any_of(wild_writers_.begin(), wild_writers_.end(), [&](uint32_t i) {
           return writes_type_of(*writing_nodes_[i], *value);
         });
}

bool AliasAnalysis::has_writers_inside(const Value* value) const {
  const LocationSet all = reachable(locations(value));
  return is_written(all) || (!wild_writers_.empty() && is_wild(all));
}

bool AliasAnalysis::reads(const Node* node, const Value* value) const {
  const LocationSet& set = locations(value);
  return intersect(read(node), set) || (is_wild(read(node)) && is_wild(set));
}

bool AliasAnalysis::writes(const Node* node, const Value* value) const {
  const LocationSet& set = locations(value);
  const LocationSet& target = written(node);
  for (const uint32_t location : target) {
    if (!locations_[location].escaped && std::binary_search(set.begin(), set.end(), location)) {
      return true;
    }
  }
  return is_wild(target) && is_wild(set) && writes_type_of(*node, *value);
}

bool AliasAnalysis::writes_anything(const Node* node) const { return !written(node).empty(); }

bool AliasAnalysis::conflict(const Node* writer, const Node* reader) const {
  const LocationSet& target = written(writer);
  if (target.empty()) return false;
  const bool wild = is_wild(target);
  return intersect(target, read(reader)) || intersect(target, written(reader)) ||
         (wild && (is_wild(read(reader)) || is_wild(written(reader))));
}

bool AliasAnalysis::has_effects(const Node* node) const { return access(node).has_effects; }

namespace {

bool leaves_no_trace(const AliasAnalysis& alias, const ir::Block& block);

// Beside what happens in its blocks.
bool leaves_trace(const AliasAnalysis& alias, const Node& node) {
  switch (node.kind()) {
    case NodeKind::kSetAttr:
    case NodeKind::kCallFunction:
    case NodeKind::kCallMethod:
    case NodeKind::kFork:
    case NodeKind::kWait: return true;
    case NodeKind::kEnter:
    case NodeKind::kExit: return !is_region_mark(node);
    case NodeKind::kOp: break;
    default: return false;
  }
  if ((effects_of(node) & (ir::kRandom | ir::kSideEffect)) != 0) return true;
  return std::ranges::any_of(alias.written(&node), [&](uint32_t at) { return alias.escapes(at); });
}

bool leaves_no_trace(const AliasAnalysis& alias, const ir::Block& block) {
  for (const Node* node : block.nodes()) {
    if (leaves_trace(alias, *node)) return false;
    for (const ir::Block* inner : node->blocks()) {
      if (!leaves_no_trace(alias, *inner)) return false;
    }
  }
  return true;
}

}  // namespace

bool leaves_no_trace(const ir::Graph& graph) {
  return leaves_no_trace(AliasAnalysis(graph), graph.block());
}

}  // namespace tierup::analysis
