// Dtypes that numbers have while a maximum is taken of them.
#pragma once

#include "tierup/kernels/memory/floating_work.h"

namespace tierup::kernels {

// Calls body(tag) for numbers a maximum is taken of; halves are widened before.
template <typename Body>
void dispatch_ordered(ScalarType work, const char* what, const Body& body) {
  require(work != ScalarType::kBool, ErrorCode::kInvalidArgument,
          "\"{}\" not implemented for 'Bool'", what);
  if (is_integral(work, false)) {
    return dispatch_integral(work, what, [&]<typename Tag>(Tag) {
      if constexpr (!std::is_same_v<typename Tag::type, bool>) body(Tag{});
    });
  }
  dispatch_work(work, what, body);
}

}  // namespace tierup::kernels
