// ModelCase: a recorded case of a model in the rooms' own types. case_file.h has it for programs
// over the public API.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/api/model/model.h"
#include "tierup/archive/safetensors.h"
#include "tierup/cases/case_tree.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {

// One call of a case, with what it expects: a result, or an error that has this text.
struct CaseCall {
  std::string method;  // "forward" goes through Model::call.
  std::vector<IValue> args;
  std::optional<IValue> expected;
  std::optional<std::string> error;
};

// A case file: its calls in order, and tolerances.
struct ModelCase {
  std::vector<CaseCall> calls;
  ComparisonOptions comparison;
  bool gradients = false;  // Its calls are recorded for backward passes.
  bool is_plain = false;   // Without trees: expects the flattened tensors of the result.
};

// Reads a case of either form: with trees in its metadata, or plain (`in.N` are the arguments and
// `out.N` the flattened results). Throws kNotFound, kCorruptArchive.
ModelCase read_model_case(const std::string& path);
// What differs in an error's text from what was expected to stand in it; empty if it does.
std::string find_error_difference(const std::string& raised, const std::string& expected);
// The tensors of a result, depth first, as a tuple.
IValue flatten_result(const IValue& result);
// What a call gave, and how it compares with what its case expects.
struct CallResult {
  IValue value;
  std::string raised;      // The error's text, for a call that expects one.
  std::string difference;  // Empty if as expected.
  Deviation deviation;
};
// Throws what the model raises, unless the call expects an error.
CallResult run_case_call(const Model& model, const CaseCall& call, const ModelCase& model_case,
                         const RunOptions& options = {});

}  // namespace tierup::api
