// ModelCases: the recorded cases of one model archive, run one after the other.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tierup/api/model/model.h"
#include "tierup/archive/safetensors.h"
#include "tierup/cases/case_outcome.h"
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

// The case files beside a model archive that are for it: NAME.caseK.safetensors whose `archives`
// name the file, or that say nothing of archives.
std::vector<std::string> case_paths_of(const std::string& model_path);

// A whole case on a freshly loaded model. Never throws.
CaseOutcome check_model_case(const std::string& model_path, const std::string& case_path);

}  // namespace tierup::api
