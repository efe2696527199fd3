#include "tierup/cases/chosen_results.h"

#include "tierup/base/error.h"

namespace tierup::api {

IValue ChosenCall::argument(std::string_view name) const {
  const auto place = op.schema().find_argument(name);
  return place ? args[*place] : IValue();
}

std::string check_choice(const ChosenCall& call) {
  std::string name = call.op.schema().qualified_name();
  name = name.substr(0, name.find('.'));
  ChoiceRule rule = ordering_rule(name);
  if (!rule) rule = factor_rule(name);
  require(static_cast<bool>(rule), ErrorCode::kUnsupported,
          "the case is ambiguous, and there is no rule for what {} may choose", name);
  return rule(call);
}

}  // namespace tierup::api
