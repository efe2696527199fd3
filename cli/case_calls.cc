#include "case_calls.h"

namespace tierup::cli {

v1::Value make_call(const v1::Module& module, const RecordedCall& call, std::vector<v1::Value> args,
                    const v1::RunOptions& options) {
  return call.method == "forward" ? module.call(std::move(args), {}, options)
                                  : module.run(call.method, std::move(args), {}, options);
}

v1::Value make_call(const v1::Module& module, const RecordedCall& call,
                    const v1::RunOptions& options) {
  return make_call(module, call, call.args, options);
}

v1::Value make_call_or_fail_as_expected(const v1::Module& module, const RecordedCall& call,
                                        const v1::RunOptions& options) {
  try {
    return make_call(module, call, options);
  } catch (const v1::Error&) {
    if (!call.error) throw;
    return {};
  }
}

std::vector<RecordedCall> calls_of(const std::vector<std::string>& paths) {
  std::vector<RecordedCall> calls;
  for (const std::string& path : paths) {
    const CaseFile file(path);
    calls.insert(calls.end(), file.calls().begin(), file.calls().end());
  }
  return calls;
}

}  // namespace tierup::cli
