// TreeReader: one JSON element of a case file to one IValue (inside api only; needs simdjson).
#pragma once

#include <simdjson.h>

#include "tierup/cases/case_tree.h"

namespace tierup::api {

class TreeReader {
 public:
  explicit TreeReader(CaseTensors& tensors) : tensors_(tensors) {}
  // See value_from_tree.
  IValue read(simdjson::dom::element tree, const TypePtr& type) const;

 private:
  IValue read_object(simdjson::dom::object object, const TypePtr& type) const;
  IValue read_list(simdjson::dom::array array, const TypePtr& type) const;
  IValue read_tuple(simdjson::dom::array array, const TypePtr& type) const;
  IValue read_dict(simdjson::dom::array array, const TypePtr& type) const;
  IValue read_tensor(simdjson::dom::object object) const;

  CaseTensors& tensors_;
};

// Rethrows what simdjson complains about as an Error; `what` names the thing read.
[[noreturn]] void fail_json(std::string_view what, const simdjson::simdjson_error& error);

}  // namespace tierup::api
