// Building the sets of an AliasAnalysis; see alias.h for the model.
//
// A value whose producer allocates gets a location of its own on the first visit and keeps it, so
// going over a graph with loops again only grows sets, until nothing changes. A set that grows
// beyond kMaxLocations is given up: its locations escape, and the wildcard stands for them, so that
// what a node costs has a bound.
#include <algorithm>

#include "tierup/analysis/alias.h"
#include "tierup/analysis/effects.h"

namespace tierup::analysis {

using ir::Block;
using ir::Node;
using ir::NodeKind;
using ir::Value;

namespace {

constexpr size_t kMaxLocations = 256;

void insert(LocationSet& set, uint32_t location) {
  const auto place = std::lower_bound(set.begin(), set.end(), location);
  if (place == set.end() || *place != location) set.insert(place, location);
}

void insert_all(LocationSet& set, const LocationSet& more) {
  for (const uint32_t location : more) insert(set, location);
}

}  // namespace

AliasAnalysis::AliasAnalysis(const ir::Graph& graph) {
  locations_.emplace_back().escaped = true;  // The wildcard.
  locations_[kWildcard].contents.push_back(kWildcard);
  values_.resize(static_cast<size_t>(graph.id_bound()));
  own_.resize(values_.size(), 0);
  for (const Value* input : graph.inputs()) {
    if (is_mutable(input->type())) add(input, {kWildcard});
  }
  do {
    changed_ = false;
    visit_block(graph.block());
  } while (has_loop_ && changed_);
  for (const Value* output : graph.outputs()) {
    for (const uint32_t location : reachable(locations(output)))
      locations_[location].returned = true;
  }
  accesses_.reserve(values_.size());  // About as many nodes.
  Access whole;
  record_block(graph.block(), whole);
}

uint32_t AliasAnalysis::own_location(const Value* value) {
  uint32_t& own = own_[static_cast<size_t>(value->id())];
  if (own == 0) {
    own = static_cast<uint32_t>(locations_.size());
    locations_.emplace_back();
  }
  return own;
}

bool AliasAnalysis::merge(LocationSet& into, const LocationSet& more) {
  // The wildcard stands for what escaped.
  const bool has_wildcard = !into.empty() && into.front() == kWildcard;
  const size_t before = into.size();
  for (const uint32_t location : more) {
    if (!has_wildcard || !locations_[location].escaped) insert(into, location);
  }
  if (into.size() == before) return false;
  changed_ = true;
  if (into.size() > kMaxLocations) {
    escape(LocationSet(into));
    into = {kWildcard};
  }
  return true;
}

void AliasAnalysis::add(const Value* value, const LocationSet& more) {
  merge(values_[static_cast<size_t>(value->id())], more);
}

void AliasAnalysis::add_contents(uint32_t location, const LocationSet& more) {
  if (locations_[location].escaped) {
    escape(more);
    return;
  }
  merge(locations_[location].contents, more);
}

void AliasAnalysis::escape(const LocationSet& set) {
  std::vector<uint32_t> pending(set.begin(), set.end());
  while (!pending.empty()) {
    Location& location = locations_[pending.back()];
    pending.pop_back();
    if (location.escaped) continue;
    location.escaped = true;
    changed_ = true;
    pending.insert(pending.end(), location.contents.begin(), location.contents.end());
    insert(location.contents, kWildcard);
  }
}

// Building.

void AliasAnalysis::visit_block(const Block& block) {
  for (const Node* node : block.nodes()) visit_node(*node);
}

void AliasAnalysis::visit_node(const Node& node) {
  if (is_region_mark(node)) return;
  switch (node.kind()) {
    case NodeKind::kOp: return visit_op(node);
    case NodeKind::kIf: return visit_if(node);
    case NodeKind::kLoop: return visit_loop(node);
    case NodeKind::kListConstruct:
    case NodeKind::kTupleConstruct:
    case NodeKind::kDictConstruct: return visit_container(node);
    case NodeKind::kListUnpack:
    case NodeKind::kTupleUnpack:
    case NodeKind::kTupleIndex:
    case NodeKind::kModuleIndex: return visit_extraction(node);
    case NodeKind::kTupleSlice:
      for (const Value* output : node.outputs()) {
        const uint32_t own = own_location(output);
        add(output, {own});
        add_contents(own, contents_of(locations(node.input())));
      }
      return;
    case NodeKind::kUncheckedCast:
      if (is_mutable(node.output()->type())) add(node.output(), locations(node.input()));
      return;
    case NodeKind::kGetAttr:
      if (is_mutable(node.output()->type())) {
        add(node.output(), contents_of(locations(node.input())));
      }
      return;
    case NodeKind::kSetAttr:
      for (const uint32_t location : LocationSet(locations(node.input(0)))) {
        add_contents(location, locations(node.input(1)));
      }
      return;
    case NodeKind::kConstant:
      // Constants with memory are shared by every run.
      if (is_mutable(node.output()->type())) add(node.output(), {kWildcard});
      return;
    case NodeKind::kCreateObject: add(node.output(), {own_location(node.output())}); return;
    case NodeKind::kIsInstance:
    case NodeKind::kUninitialized:
    case NodeKind::kEnumName:
    case NodeKind::kEnumValue:
    case NodeKind::kPrint:
    case NodeKind::kRaise:
    case NodeKind::kTrap: return;
    case NodeKind::kToList: return visit_fresh(node.output());
    default: return visit_unknown(node);
  }
}

// A new object. Mutable things that came with it stand for by its own location.
void AliasAnalysis::visit_fresh(const Value* output) {
  const TypePtr& type = output->type();
  if (!is_mutable(type)) return;
  const uint32_t own = own_location(output);
  add(output, {own});
  if (is_open(*type) || std::any_of(type->elements().begin(), type->elements().end(), is_mutable)) {
    add_contents(own, {own});
  }
}

// An output without marks: new itself, but what is in it may be what the operator was given.
void AliasAnalysis::visit_unmarked(const Value* output, const Node& node) {
  const TypePtr& type = output->type();
  visit_fresh(output);
  if (!is_mutable(type) || type->is(TypeKind::kTensor)) return;
  LocationSet given;
  for (const Value* input : node.inputs()) {
    insert_all(given, reachable(locations(input)));
  }
  add_contents(own_location(output), given);
  if (is_open(*type)) add(output, given);
}

// Arguments marked "-> *": put into a container of the call, or kept by somebody.
void AliasAnalysis::visit_kept(const Node& node) {
  const ir::Schema& schema = node.op()->schema();
  const size_t count = std::min(schema.arguments.size(), node.inputs().size());
  for (size_t i = 0; i < count; ++i) {
    const ir::AliasInfo& mark = schema.arguments[i].alias;
    if (mark.after != "*" || !is_mutable(node.input(i)->type())) continue;
    bool is_known = false;
    for (size_t j = 0; j < count; ++j) {
      if (!schema.arguments[j].alias.is_write || j == i) continue;
      is_known = true;
      for (const uint32_t location : LocationSet(locations(node.input(j)))) {
        add_contents(location, locations(node.input(i)));
      }
    }
    for (const ir::Argument& result : schema.returns) {
      is_known |= result.alias.set == mark.set || result.element_alias.set == mark.set;
    }
    if (!is_known) escape(locations(node.input(i)));
  }
}

// What the arguments marked with one of `sets` ("a" or "b|a") may be.
LocationSet AliasAnalysis::marked(const Node& node, const std::string& sets) const {
  const ir::Schema& schema = node.op()->schema();
  const auto holds = [&](const std::string& set) {
    return !set.empty() && ("|" + sets + "|").find("|" + set + "|") != std::string::npos;
  };
  LocationSet result;
  for (size_t i = 0; i < schema.arguments.size() && i < node.inputs().size(); ++i) {
    const LocationSet& set = locations(node.input(i));
    if (holds(schema.arguments[i].alias.set)) insert_all(result, set);
    if (holds(schema.arguments[i].element_alias.set)) insert_all(result, contents_of(set));
  }
  return result;
}

// An output marked "(*)": out of a container among the arguments, or from anywhere.
void AliasAnalysis::visit_taken(const Value* output, const Node& node) {
  LocationSet inner;
  for (const Value* input : node.inputs()) {
    const LocationSet& set = locations(input);
    insert_all(inner, contents_of(set));
    if (types_may_alias(input->type(), output->type())) insert_all(inner, set);
  }
  add(output, inner.empty() ? LocationSet{kWildcard} : inner);
  if (!output->type()->is(TypeKind::kTensor)) visit_unmarked(output, node);
}

void AliasAnalysis::visit_op(const Node& node) {
  const ir::Schema& schema = node.op()->schema();
  visit_kept(node);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    const Value* output = node.output(i);
    if (!is_mutable(output->type())) continue;
    const ir::Argument* result = i < schema.returns.size() ? &schema.returns[i] : nullptr;
    if (result == nullptr || (result->alias.empty() && result->element_alias.empty())) {
      visit_unmarked(output, node);
    } else if (result->alias.set == "*") {
      visit_taken(output, node);
    } else if (!result->alias.empty()) {
      add(output, marked(node, result->alias.set));
    } else {
      const uint32_t own = own_location(output);
      add(output, {own});
      add_contents(own, marked(node, result->element_alias.set));
    }
  }
}

void AliasAnalysis::visit_container(const Node& node) {
  const uint32_t own = own_location(node.output());
  add(node.output(), {own});
  for (const Value* input : node.inputs()) add_contents(own, LocationSet(locations(input)));
}

void AliasAnalysis::visit_extraction(const Node& node) {
  const LocationSet inner = contents_of(locations(node.input()));
  for (const Value* output : node.outputs()) {
    if (is_mutable(output->type())) add(output, inner);
  }
}

void AliasAnalysis::visit_if(const Node& node) {
  for (const Block* block : node.blocks()) {
    visit_block(*block);
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      add(node.output(i), locations(block->returns()[i]));
    }
  }
}

void AliasAnalysis::visit_loop(const Node& node) {
  has_loop_ = true;
  const Block& body = *node.block();
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    add(body.params()[i + 1], locations(node.input(i + 2)));
    add(body.params()[i + 1], locations(body.returns()[i + 1]));
  }
  visit_block(body);
  for (size_t i = 0; i < node.outputs().size(); ++i) {
    add(node.output(i), locations(node.input(i + 2)));
    add(node.output(i), locations(body.returns()[i + 1]));
  }
}

void AliasAnalysis::visit_unknown(const Node& node) {
  for (const Value* input : node.inputs()) escape(locations(input));
  for (const Block* block : node.blocks()) visit_block(*block);
  for (const Value* output : node.outputs()) {
    if (is_mutable(output->type())) add(output, {kWildcard});
  }
}

// Accesses.

AliasAnalysis::Access& AliasAnalysis::record_block(const Block& block, Access& access) {
  for (const Node* node : block.nodes()) {
    record_node(*node);
    const Access& inner = accesses_[node];
    insert_all(access.reads, inner.reads);
    insert_all(access.writes, inner.writes);
    access.has_effects |= inner.has_effects;
  }
  return access;
}

void AliasAnalysis::record_op(const Node& node, Access& access) const {
  const ir::Schema& schema = node.op()->schema();
  for (size_t i = 0; i < node.inputs().size(); ++i) {
    const LocationSet& set = locations(node.input(i));
    insert_all(access.reads, reachable(set));
    if (i >= schema.arguments.size()) continue;
    const ir::Argument& argument = schema.arguments[i];
    if (writes_input(node, i)) {
      insert_all(access.writes, set);
    }
    if (argument.element_alias.is_write) {
      insert_all(access.writes, contents_of(set));
    }
  }
  access.has_effects = (effects_of(node) & ir::kSideEffect) != 0 ||
                       (node.op()->has_effect(ir::kMayRaise) && node.outputs().empty());
}

void AliasAnalysis::record_reads(const Node& node, Access& access) const {
  for (const Value* input : node.inputs()) insert_all(access.reads, locations(input));
}

void AliasAnalysis::record_node(const Node& node) {
  Access& access = accesses_[&node];
  switch (node.kind()) {
    case NodeKind::kOp: record_op(node, access); break;
    case NodeKind::kIf:
    case NodeKind::kLoop:
      for (const Block* block : node.blocks()) record_block(*block, access);
      break;
    case NodeKind::kSetAttr: access.writes = locations(node.input(0)); break;
    case NodeKind::kPrint:
    case NodeKind::kRaise:
    case NodeKind::kTrap:
      access.has_effects = true;
      record_reads(node, access);
      break;
    case NodeKind::kEnter:
    case NodeKind::kExit:
      if (is_region_mark(node)) {
        access.has_effects = true;
        break;
      }
      [[fallthrough]];
    default:
      if (only_makes_results(node.kind())) {
        record_reads(node, access);
        break;
      }
      // Unknown code reaches everything its arguments and the outside hold.
      for (const Block* block : node.blocks()) record_block(*block, access);
      for (const Value* input : node.inputs()) {
        insert_all(access.reads, reachable(locations(input)));
      }
      insert(access.reads, kWildcard);
      access.writes = access.reads;
      access.has_effects = true;
  }
  for (const uint32_t location : access.writes) {
    access.has_effects |= locations_[location].escaped || locations_[location].returned;
  }
  if (!access.writes.empty() && node.blocks().empty()) record_writer(node, access.writes);
}

void AliasAnalysis::record_writer(const Node& node, const LocationSet& written) {
  const auto index = static_cast<uint32_t>(writing_nodes_.size());
  writing_nodes_.push_back(&node);
  for (const uint32_t location : written) {
    if (!locations_[location].escaped) locations_[location].writers.push_back(index);
  }
  if (is_wild(written)) wild_writers_.push_back(index);
}

}  // namespace tierup::analysis
