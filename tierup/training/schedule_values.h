// Values of schedules' settings that may be one for all groups or one for each.
#pragma once

#include <string_view>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::training {

// Of a list or a tuple.
inline const std::vector<IValue>& items_of(const IValue& value) {
  return value.is_list() ? value.to_list().items : value.to_tuple().items;
}

// The number of each group from a number for all or a list of them.
inline double of_group(const IValue& value, size_t group, size_t groups, std::string_view name) {
  if (value.is_float() || value.is_int()) return value.to_float();
  const bool is_list = value.is_list() || value.is_tuple();
  require(is_list && items_of(value).size() == groups, ErrorCode::kInvalidArgument,
          "the schedule's '{}' is a number, or one for each of the {} groups", name, groups);
  return items_of(value)[group].to_float();
}

}  // namespace tierup::training
