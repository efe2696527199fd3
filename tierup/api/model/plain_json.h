// JSON as plain values: objects become dicts, arrays lists of Any.
#pragma once

#include <simdjson.h>

#include <string_view>

#include "tierup/tensor/ivalue.h"

namespace tierup::api {

IValue plain_value(const simdjson::dom::element& json);
// Throws kInvalidArgument for a text that is no JSON.
IValue plain_json(std::string_view text);

}  // namespace tierup::api
