// Arguments: what a host hands to a method, checked and converted by the method's schema.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tierup/ir/schema.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::api {

using NamedValues = std::vector<std::pair<std::string, IValue>>;

// One value per argument of the schema: `self` first, then `args` by position and `kwargs` by name,
// defaults for the rest. Ints become floats where floats are wanted, tuples named tuples, and
// lists and dicts get the element types that the schema says (a list that has others is
// copied). Throws kInvalidArgument, or kTypeError for a value of another type, with PyTorch's key
// words.
std::vector<IValue> bind_arguments(const ir::Schema& schema, IValue self, std::vector<IValue> args,
                                   NamedValues kwargs);

// `value` as a member of `type` by the conversions above; false (and unchanged) if there is none.
bool convert_value(IValue& value, const TypePtr& type);

// "forward(Tensor x, int n=1) -> Tensor": without self.
std::string signature_text(const std::string& name, const ir::Schema& schema);

}  // namespace tierup::api
