#include "case_calls.h"

#include "tierup/api/public/facade.h"
#include "tierup/cases/model_cases.h"

namespace tierup::cli {

std::vector<PublicCall> read_case_calls(const std::string& path) {
  std::vector<PublicCall> calls;
  for (const api::CaseCall& call : api::read_model_case(path).calls) {
    PublicCall& made = calls.emplace_back();
    made.method = call.method;
    made.raises = call.error.has_value();
    for (const IValue& arg : call.args) made.args.push_back(v1::Access::wrap(arg));
  }
  return calls;
}

v1::Value make_call(const v1::Module& module, const PublicCall& call,
                    const v1::RunOptions& options) {
  try {
    return call.method == "forward" ? module.call(call.args, {}, options)
                                    : module.run(call.method, call.args, {}, options);
  } catch (const v1::Error&) {
    if (!call.raises) throw;
    return {};
  }
}

}  // namespace tierup::cli
