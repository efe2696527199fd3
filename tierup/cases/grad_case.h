// GradCase: an operator case run under a tape and backward: results, which of them require
// gradients, gradients of first order and, where recorded, of second ("Gradient cases" of the
// conformance material).
#pragma once

#include <map>

#include "tierup/autodiff/recording_tape.h"
#include "tierup/cases/op_case.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/derivative.h"

namespace tierup::api {

class GradCase : private OpCase {
 public:
  GradCase(simdjson::dom::element description, const ops::Op& op, CaseTensors& tensors,
           ComparisonOptions options);
  // Whether the case is about gradients; `any`: or has some beside its outputs.
  static bool is_one(simdjson::dom::element description, bool any);
  // Throws Error for a case that is malformed or an operator that raises.
  CaseOutcome run();

 private:
  using Named = std::map<std::string, Tensor>;
  using Tree = simdjson::dom::element;

  void mark_leaves();
  std::vector<IValue> call();
  void name_outputs(const IValue& result, Tree tree);
  CaseOutcome check_error(std::string_view text);
  std::string read_cotangents();
  std::string sum_cotangents();
  std::string check_first();
  std::string check_second(Tree second);
  // What differs from the tree of names and leaves.
  std::string compare(const Named& gradients, Tree expected, std::string_view what) const;
  // Of `outputs` that have a cotangent, by the names of `inputs`; undefined where nothing came.
  Named differentiate(const Named& outputs, const Named& cotangents, const Named& inputs,
                      bool create_graph);

  autodiff::RecordingTape tape_;
  kernels::Generator generator_;
  ops::RunContext context_;
  ComparisonOptions grad_options_;
  Named leaves_;      // What requires gradients.
  Named outputs_;     // Tensors among the results, by the names of the recorded ones.
  Named cotangents_;  // By output.
  Named gradients_;   // By leaf.
};

}  // namespace tierup::api
