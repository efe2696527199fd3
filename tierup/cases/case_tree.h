// Trees of values as case files write them in JSON, read into IValues.
//
// A leaf {"t": "in.0"} names a tensor of the file. Two leaves of one name share memory, as
// the values they were recorded from did.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "tierup/tensor/ivalue.h"

namespace tierup::api {

// The tensors of one case by name, each copied once into memory of its own, so that a call
// may write to its arguments. Thread rule: one thread.
class CaseTensors {
 public:
  // `load` gives the tensor stored under a name and throws if there is none.
  explicit CaseTensors(std::function<Tensor(std::string_view)> load) : load_(std::move(load)) {}
  // As stored; the same handle for the same name.
  const Tensor& stored(const std::string& name);
  // The value of a whole leaf by its name, as value_from_tree made it last; undefined if it did
  // not.
  Tensor leaf(const std::string& name) const;

 private:
  friend class TreeReader;
  std::function<Tensor(std::string_view)> load_;
  std::map<std::string, Tensor, std::less<>> stored_;
  std::map<std::string, Tensor, std::less<>> leaves_;
};

// The value of a tree in its JSON text. `type` directs what JSON leaves open (the element type
// of a list, an int for a float argument); null: as the tree stands. A leaf with a size is a
// strided view of what is stored; a stride alone is a remark and changes nothing.
// Throws kCorruptArchive for a tree that is not one, kNotFound for a missing tensor.
IValue value_from_tree(std::string_view json, CaseTensors& tensors, const TypePtr& type = nullptr);

}  // namespace tierup::api
