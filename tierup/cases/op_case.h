// OpCase: one recorded case of an operator being run (inside api only; needs simdjson).
#pragma once

#include <simdjson.h>

#include <string>
#include <vector>

#include "tierup/cases/case_outcome.h"
#include "tierup/cases/case_tree.h"
#include "tierup/ops/table/op.h"
#include "tierup/tensor/comparison.h"

namespace tierup::api {

class OpCase {
 public:
  OpCase(simdjson::dom::element description, const ops::Op& op, CaseTensors& tensors,
         ComparisonOptions options)
      : case_(description), op_(op), tensors_(tensors), options_(std::move(options)) {}
  // Throws Error for a case that is malformed or an operator that raises.
  CaseOutcome run();

 protected:
  // In schema order: positional ones from `args`, the others by name, missing ones by default.
  std::vector<IValue> read_arguments() const;
  // What differs from the recorded outputs; empty if nothing does.
  // Given the arguments as they were: what is right up to a choice is checked against them.
  std::string find_wrong_output(const std::vector<IValue>& args,
                                const std::vector<IValue>& results) const;

  simdjson::dom::element case_;
  const ops::Op& op_;
  CaseTensors& tensors_;
  ComparisonOptions options_;

 private:
  CaseOutcome check_error(ops::OpCall& call, std::string_view text) const;
  bool is_ambiguous() const;
  std::string check_outputs(const std::vector<IValue>& args,
                            const std::vector<IValue>& results) const;
  std::string check_views(const IValue& result, simdjson::dom::element tree) const;
  std::string check_written(const std::vector<IValue>& results) const;
};

}  // namespace tierup::api
