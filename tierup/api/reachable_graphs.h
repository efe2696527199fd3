// What the code of a model uses: a walk over the graphs that its methods can call.
#pragma once

#include <map>
#include <string>

#include "tierup/api/model.h"

namespace tierup::api {

// Operators by qualified name, with the number of places that use them.
std::map<std::string, size_t> count_operators(const Model& model);

}  // namespace tierup::api
