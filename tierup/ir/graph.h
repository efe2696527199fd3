// Graph: one SSA program, shared by both front ends and all passes.
//
// A Graph owns its nodes and values. Nodes stand in blocks; prim::If and prim::Loop hold
// blocks of their own. Every value has a type, every node a source range. Reading is open
// to all; GraphEditor (graph_editor.h) is the only way to change a graph.
//
//   graph @forward(%x : Tensor) {
//     %1 : int = prim::Constant[value=2]()
//     %y : Tensor = aten::mul.Scalar(%x, %1)
//     return (%y)
//   }
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tierup/base/object_pool.h"
#include "tierup/base/small_vector.h"
#include "tierup/ir/operator.h"
#include "tierup/ir/source.h"
#include "tierup/tensor/ivalue.h"
#include "tierup/tensor/type.h"

namespace tierup::ir {

class Block;
class Graph;
class GraphEditor;
class Node;

enum class NodeKind : uint8_t {
  kOp,        // An operator of the table: node.op().
  kConstant,  // [value] -> v. Value of any immutable type, a tensor, or a function.
  kIf,        // (cond: bool), blocks then/else with the same number of returns.
  kLoop,  // (max_trips: int, cond: bool, carried...); block (i, carried...) -> (cond, carried...).
  kReturn,  // Only as a block's terminator record; not a node of the list.
  kListConstruct,
  kListUnpack,
  kTupleConstruct,
  kTupleUnpack,
  kTupleIndex,     // [index] (tuple)
  kTupleSlice,     // [begin, end] (tuple)
  kDictConstruct,  // (k0, v0, k1, v1, ...)
  kCreateObject,   // [type] () -> object with unset attributes
  kGetAttr,        // [name] (object)
  kSetAttr,        // [name] (object, value)
  kCallFunction,   // [callee] (args...)
  kCallMethod,     // [name] (object, args...): by the run-time class
  kFork,           // [callee: a graph] (captures...) -> Future
  kWait,           // (future)
  kEnter,
  kExit,   // with: (object) -> result of __enter__; (object)
  kRaise,  // (message: str[, class: str])
  kUncheckedCast,
  kUninitialized,
  kIsInstance,  // [types] (value) -> bool
  kEnumName,
  kEnumValue,
  kToList,       // [type] (tensor)
  kModuleIndex,  // ModuleContainerIndex: (container, key); output type annotated
  kPrint,        // (values...)
  kTrap,         // [message]: reached only if a program runs what is not supported
};
// "prim::If", "prim::Loop"...; kOp has none.
std::string_view node_kind_name(NodeKind kind);
std::optional<NodeKind> node_kind_from_name(std::string_view name);

enum class AttrName : uint8_t {
  kValue,
  kName,
  kType,
  kTypes,
  kIndex,
  kBegin,
  kEnd,
  kCallee,
  kMessage,
  kBody,
  kNote
};
std::string_view attr_name_text(AttrName name);
std::optional<AttrName> attr_name_from_text(std::string_view text);

using AttrValue = std::variant<int64_t, std::string, IValue, TypePtr, std::vector<TypePtr>,
                               Ref<Callable>, std::shared_ptr<const Graph>>;

// A call by a function of this name. Its place becomes text only when an error shows it.
struct CallPlace {
  std::string caller;
  SourceRange range;
  std::string text() const { return caller + " at " + range.location(); }
};
// Calls through which an inlined node came, innermost first; shared among the nodes of one call.
using CallChain = std::shared_ptr<const std::vector<CallPlace>>;

struct Use {
  Node* user;  // Null when the use is a return of `block`.
  Block* block;
  size_t index;
  friend bool operator==(const Use&, const Use&) = default;
};

class Value {
 public:
  const TypePtr& type() const { return type_; }
  Node* node() const { return node_; }     // Its producer; null for a block parameter.
  Block* block() const { return block_; }  // Of a block parameter; else null.
  size_t index() const {
    return index_;
  }                               // Among its producer's outputs or the block's parameters.
  int id() const { return id_; }  // Unique in the graph, stable; printed where there is no name.
  const std::string& name() const { return name_; }  // Debug name; may be empty.
  std::span<const Use> uses() const { return uses_; }

 private:
  friend class GraphEditor;
  friend class Graph;
  TypePtr type_;
  Node* node_ = nullptr;
  Block* block_ = nullptr;
  size_t index_ = 0;
  int id_ = 0;
  std::string name_;
  SmallVector<Use, 1> uses_;
};

class Node {
 public:
  NodeKind kind() const { return kind_; }
  bool is(NodeKind kind) const { return kind_ == kind; }
  const Operator* op() const { return op_; }  // Null unless kOp.
  std::span<Value* const> inputs() const { return {inputs_.data(), inputs_.size()}; }
  Value* input(size_t i = 0) const { return inputs_[i]; }
  std::span<Value* const> outputs() const { return {outputs_.data(), outputs_.size()}; }
  Value* output(size_t i = 0) const { return outputs_[i]; }
  std::span<Block* const> blocks() const { return {blocks_.data(), blocks_.size()}; }
  Block* block(size_t i = 0) const { return blocks_[i]; }
  Block* owner() const { return owner_; }
  Node* next() const { return next_; }
  Node* previous() const { return previous_; }
  const SourceRange& range() const { return range_; }
  // Calls through which an inlined node came, innermost first; null without any.
  const CallChain& call_chain() const { return call_chain_; }

  bool has_attr(AttrName name) const { return find(name) != nullptr; }
  // Throws kInternal if absent or of another type.
  template <typename T>
  const T& attr(AttrName name) const {
    const AttrValue* value = find(name);
    TIERUP_CHECK(value != nullptr && std::holds_alternative<T>(*value));
    return std::get<T>(*value);
  }
  std::span<const std::pair<AttrName, AttrValue>> attrs() const { return attrs_; }
  // "aten::add.Tensor" or "prim::If".
  std::string display_name() const;

 private:
  friend class GraphEditor;
  friend class Graph;
  const AttrValue* find(AttrName name) const {
    for (const auto& [key, value] : attrs_) {
      if (key == name) return &value;
    }
    return nullptr;
  }

  NodeKind kind_ = NodeKind::kOp;
  const Operator* op_ = nullptr;
  SmallVector<Value*, 4> inputs_;
  SmallVector<Value*, 2> outputs_;
  SmallVector<Block*, 2> blocks_;
  Block* owner_ = nullptr;
  Node* next_ = nullptr;
  Node* previous_ = nullptr;
  SourceRange range_;
  CallChain call_chain_;
  SmallVector<std::pair<AttrName, AttrValue>, 1> attrs_;
};

class Block {
 public:
  std::span<Value* const> params() const { return params_; }
  std::span<Value* const> returns() const { return returns_; }
  Node* parent() const { return parent_; }  // The If or Loop; null for the graph's own block.
  Node* first() const { return first_; }
  Node* last() const { return last_; }

  // for (Node* node : block.nodes()): the node at hand may be removed inside the loop.
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node != nullptr ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_ != nullptr ? node_->next() : nullptr;
      return *this;
    }
    friend bool operator==(const Iterator& a, const Iterator& b) { return a.node_ == b.node_; }

   private:
    Node* node_;
    Node* next_;
  };
  struct Range {
    Node* head;
    Iterator begin() const { return Iterator(head); }
    Iterator end() const { return Iterator(nullptr); }
  };
  Range nodes() const { return {first_}; }

 private:
  friend class GraphEditor;
  friend class Graph;
  std::vector<Value*> params_;
  std::vector<Value*> returns_;
  Node* parent_ = nullptr;
  Node* first_ = nullptr;
  Node* last_ = nullptr;
};

class Graph {
 public:
  explicit Graph(std::string name = "graph");
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  const std::string& name() const { return name_; }
  Block& block() { return *block_; }
  const Block& block() const { return *block_; }
  std::span<Value* const> inputs() const { return block_->params(); }
  std::span<Value* const> outputs() const { return block_->returns(); }
  int id_bound() const { return next_id_; }  // Above every value's id.
  // A deep copy with the same ids; nested graphs in attributes are shared (they are immutable).
  std::shared_ptr<Graph> clone() const;
  // Text form, which parse_graph reads back to an equal graph (see text.h).
  std::string to_string() const;

 private:
  friend class GraphEditor;
  std::string name_;
  ObjectPool<Node> nodes_;  // Removed nodes stay here, unlinked, until the graph goes.
  ObjectPool<Value> values_;
  ObjectPool<Block> blocks_;
  Block* block_;
  int next_id_ = 0;
};

}  // namespace tierup::ir
