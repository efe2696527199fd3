// TreeSpec: the calling convention of an exported program: how nested Python arguments map to a
// flat list of leaves (PyTorch's pytree, protocol 1).
//
// Dicts bind by key, never by position. A type that tierup does not know is kept as a record of
// its children, so that no program fails to load because of its containers.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tierup/tensor/ivalue.h"

namespace tierup::frontend::exported {

struct TreeSpec {
  enum class Kind : uint8_t { kLeaf, kTuple, kList, kDict, kNamedTuple, kRecord };
  Kind kind = Kind::kLeaf;
  std::string type;                      // As the file names it: "builtins.dict", "my.Point".
  std::vector<IValue> keys;              // Of a dict, in the order of the children.
  std::vector<std::string> fields;       // Of a named tuple or dataclass record, where known.
  std::vector<std::string> none_fields;  // Fields of a dataclass that were None and have no child.
  std::vector<TreeSpec> children;

  size_t leaf_count() const;
};

using NamedTupleFields = std::unordered_map<std::string, std::vector<std::string>>;

// From the JSON text "[1, {...}]". Throws kCorruptArchive for broken text, another protocol, wrong
// arity or nesting above 200 levels.
TreeSpec parse_tree_spec(std::string_view json, const NamedTupleFields& fields);

// Leaves of `value` in order, each with its Python-like path ("x", "d['z'][0]"). An absent value
// (nullopt) gives absent leaves, which the caller fills or refuses. Throws kTypeError if a
// container is of another kind or arity, naming the path, what was expected and what came.
using LeafSink = std::function<void(const std::string& path, std::optional<IValue> value)>;
void flatten(const TreeSpec& spec, const std::optional<IValue>& value, const std::string& path,
             const LeafSink& sink);

// Positional and keyword arguments to leaves. `in_spec` is tuple(args tuple, kwargs dict);
// `names` are the Python parameter names, which let a keyword stand for a positional and
// the reverse. Throws kInvalidArgument for unknown, doubled or surplus arguments.
void flatten_call(const TreeSpec& in_spec, const std::vector<std::string>& names,
                  const std::vector<IValue>& args,
                  const std::vector<std::pair<std::string, IValue>>& kwargs, const LeafSink& sink);

// The nested value over leaves; consumes spec.leaf_count() of them from `next` on.
IValue unflatten(const TreeSpec& spec, const std::vector<IValue>& leaves, size_t& next);

// "forward(x, y, *, n)": for messages and inspection.
std::string call_signature(const TreeSpec& in_spec, const std::vector<std::string>& names);

}  // namespace tierup::frontend::exported
