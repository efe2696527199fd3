// TypeRestorer: gives unpickled values the types that their declarations promise.
//
// Pickles name element types of containers only by tags (not at all before file version 3), and
// NamedTuples arrive as bare tuples. The declared type of an attribute, or of the
// parameter of __setstate__, says what they are.
#pragma once

#include <set>
#include <utility>

#include "tierup/tensor/ivalue.h"

namespace tierup::archive {

// Remembers which containers it has seen, so that shared ones are walked once.
class TypeRestorer {
 public:
  // Returns `value` as the declared type wants it: lists and dicts get their element types in place
  // (identity kept), bare tuples become named ones, an int where a float is declared becomes one.
  // `what` is named in the kTypeError that a scalar of another type gives.
  IValue restore(const IValue& value, const TypePtr& declared, std::string_view what);

  // Whether restore gives such a value as it is, which it does for nearly all attributes. Only
  // what is plain to see.
  static bool is_restored(const IValue& value, const TypePtr& declared);

 private:
  void restore_list(ListValue& list, const TypePtr& declared, std::string_view what);
  void restore_dict(DictValue& dict, const TypePtr& declared, std::string_view what);
  IValue restore_tuple(const IValue& value, const TypePtr& declared, std::string_view what);
  IValue restore_union(const IValue& value, const TypePtr& declared, std::string_view what);
  bool visit(const void* container, const TypePtr& declared);

  std::set<std::pair<const void*, const Type*>> visited_;
};

}  // namespace tierup::archive
