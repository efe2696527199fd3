// For tests: calls an operator of the table by its qualified name, without a graph.
#pragma once

#include <string>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::ops {

// The results of `name` ("aten::add.int") on `args`; missing arguments take their defaults.
inline std::vector<IValue> call_operator(std::string_view name, std::vector<IValue> args,
                                         RunContext* context = nullptr) {
  const Op* op = OpTable::instance().find(name);
  require(op != nullptr, ErrorCode::kNotFound, "no operator {}", name);
  const auto& arguments = op->schema().arguments;
  for (size_t i = args.size(); i < arguments.size(); ++i) {
    require(arguments[i].default_value.has_value(), ErrorCode::kInvalidArgument,
            "{}: missing argument {}", name, arguments[i].name);
    args.push_back(*arguments[i].default_value);
  }
  std::vector<IValue> results(op->schema().returns.size());
  RunContext own;
  OpCall call{args, results, context != nullptr ? *context : own};
  op->kernel()(call);
  return results;
}

// The results as text: one alone, several as a tuple, none as "". An error gives "! " and its
// message.
inline std::string called(std::string_view name, std::vector<IValue> args) {
  try {
    std::vector<IValue> results = call_operator(name, std::move(args));
    if (results.empty()) return "";
    return to_text(results.size() == 1 ? results[0] : make_tuple(std::move(results)));
  } catch (const Error& error) {
    return "! " + error.message();
  }
}

}  // namespace tierup::ops
