#include "tierup/executor/plugin_pass.h"

#include "tierup/base/error.h"

namespace tierup::executor {
namespace {

ir::Node* unwrap(tierup_pass_node* node) { return reinterpret_cast<ir::Node*>(node); }
const ir::Node* unwrap(const tierup_pass_node* node) {
  return reinterpret_cast<const ir::Node*>(node);
}
ir::Value* unwrap(tierup_pass_value* value) { return reinterpret_cast<ir::Value*>(value); }
const ir::Value* unwrap(const tierup_pass_value* value) {
  return reinterpret_cast<const ir::Value*>(value);
}
tierup_pass_node* wrap(ir::Node* node) { return reinterpret_cast<tierup_pass_node*>(node); }
tierup_pass_value* wrap(ir::Value* value) { return reinterpret_cast<tierup_pass_value*>(value); }

// What `body` returns; null, with the message kept, if it throws.
template <typename Body>
auto kept(tierup_pass_graph* graph, Body&& body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    if (graph->message.empty()) graph->message = error.what();
    return {};
  }
}

template <typename Body>
int status_of(tierup_pass_graph* graph, Body&& body) noexcept {
  const bool done = kept(graph, [&] {
    body();
    return true;
  });
  return done ? TIERUP_PLUGIN_OK : TIERUP_PLUGIN_FAILED;
}

template <typename T>
T& required(T* pointer, const char* what) {
  require(pointer != nullptr, ErrorCode::kInvalidArgument, "{} is null", what);
  return *pointer;
}

tierup_pass_value* make(tierup_pass_graph* graph, tierup_pass_node* before, IValue value) {
  return kept(graph, [&] {
    return wrap(graph->rewrite.constant(std::move(value), required(unwrap(before), "a node")));
  });
}

}  // namespace

UserPass pass_of(const tierup_plugin_pass& table) {
  require(table.size >= sizeof(table) && table.name != nullptr && table.run != nullptr &&
              table.place >= TIERUP_PASS_TIER0 && table.place <= TIERUP_PASS_LAST,
          ErrorCode::kInvalidArgument, "a pass is declared incompletely");
  UserPass pass;
  pass.name = table.name;
  pass.place = static_cast<PassPlace>(table.place);
  pass.run = [&table](GraphRewrite& rewrite) {
    tierup_pass_graph graph{rewrite, {}, {}, {}, {}, {}};
    const int status = table.run(&plugin_host(), &graph, table.context);
    require(status == TIERUP_PLUGIN_OK, ErrorCode::kInvalidArgument, "{}",
            graph.message.empty() ? "it failed without a message" : graph.message);
  };
  return pass;
}

size_t pass_node_count(tierup_pass_graph* graph) {
  return kept(graph, [&] {
    graph->nodes = graph->rewrite.nodes();
    return graph->nodes.size();
  });
}

tierup_pass_node* pass_node(tierup_pass_graph* graph, size_t index) {
  return index < graph->nodes.size() ? wrap(graph->nodes[index]) : nullptr;
}

const char* pass_node_name(tierup_pass_graph* graph, const tierup_pass_node* node) {
  if (node == nullptr) return "";
  return kept(graph, [&] {
    graph->name = unwrap(node)->display_name();
    return graph->name.c_str();
  });
}

size_t pass_input_count(const tierup_pass_node* node) {
  return node == nullptr ? 0 : unwrap(node)->inputs().size();
}
tierup_pass_value* pass_input(const tierup_pass_node* node, size_t index) {
  return index < pass_input_count(node) ? wrap(unwrap(node)->input(index)) : nullptr;
}
size_t pass_output_count(const tierup_pass_node* node) {
  return node == nullptr ? 0 : unwrap(node)->outputs().size();
}
tierup_pass_value* pass_output(const tierup_pass_node* node, size_t index) {
  return index < pass_output_count(node) ? wrap(unwrap(node)->output(index)) : nullptr;
}

size_t pass_use_count(const tierup_pass_value* value) {
  return value == nullptr ? 0 : unwrap(value)->uses().size();
}
tierup_pass_node* pass_producer(const tierup_pass_value* value) {
  return value == nullptr ? nullptr : wrap(unwrap(value)->node());
}

tierup_plugin_call* pass_constant(tierup_pass_graph* graph, const tierup_pass_value* value) {
  const IValue* constant = value == nullptr ? nullptr : GraphRewrite::constant_of(*unwrap(value));
  if (constant == nullptr) return nullptr;
  return kept(graph, [&] {
    graph->constant = *constant;
    graph->constant_call.kept.clear();
    graph->constant_call.args = {&graph->constant, 1};
    return &graph->constant_call;
  });
}

tierup_pass_value* pass_make_none(tierup_pass_graph* graph, tierup_pass_node* before) {
  return make(graph, before, IValue());
}
tierup_pass_value* pass_make_int(tierup_pass_graph* graph, tierup_pass_node* before,
                                 int64_t value) {
  return make(graph, before, IValue(value));
}
tierup_pass_value* pass_make_float(tierup_pass_graph* graph, tierup_pass_node* before,
                                   double value) {
  return make(graph, before, IValue(value));
}
tierup_pass_value* pass_make_bool(tierup_pass_graph* graph, tierup_pass_node* before, int value) {
  return make(graph, before, IValue(value != 0));
}

tierup_pass_node* pass_insert(tierup_pass_graph* graph, const char* op,
                              tierup_pass_value* const* inputs, size_t count,
                              tierup_pass_node* before) {
  return kept(graph, [&] {
    std::vector<ir::Value*> values;
    for (size_t i = 0; i < count; ++i) values.push_back(&required(unwrap(inputs[i]), "an input"));
    return wrap(graph->rewrite.insert(&required(op, "the operator's name"), values,
                                      required(unwrap(before), "a node")));
  });
}

int pass_replace(tierup_pass_graph* graph, tierup_pass_value* from, tierup_pass_value* to) {
  return status_of(graph, [&] {
    graph->rewrite.replace_uses(required(unwrap(from), "a value"), required(unwrap(to), "a value"));
  });
}

int pass_remove(tierup_pass_graph* graph, tierup_pass_node* node) {
  return status_of(graph, [&] { graph->rewrite.remove(required(unwrap(node), "a node")); });
}

void pass_note(tierup_pass_graph* graph, const char* line) {
  static_cast<void>(status_of(graph, [&] { graph->rewrite.note(&required(line, "a line")); }));
}

int pass_fail(tierup_pass_graph* graph, const char* message) {
  static_cast<void>(status_of(graph, [&] { graph->message = message == nullptr ? "" : message; }));
  return TIERUP_PLUGIN_FAILED;
}

}  // namespace tierup::executor
