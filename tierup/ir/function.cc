// See function.h.
#include "tierup/ir/function.h"

#include "tierup/base/error.h"

namespace tierup::ir {

const Function& as_function(const Callable& callable) {
  const auto* function = dynamic_cast<const Function*>(&callable);
  TIERUP_CHECK(function != nullptr);
  return *function;
}

}  // namespace tierup::ir
