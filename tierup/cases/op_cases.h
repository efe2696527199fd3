// OpCaseBundle: the recorded cases of one operator overload, run against the operator table.
//
// A case passes if its outputs have the recorded values, dtypes and shapes, its written inputs
// the recorded contents, and its outputs share memory with the inputs that they are views of. A
// case with an "error" instead of outputs passes if the call raises one. For the command, too:
// includes nothing of the rooms.
#pragma once

#include <memory>
#include <string>

#include "tierup/cases/case_outcome.h"

namespace tierup::api {

// Thread rule: one thread.
class OpCaseBundle {
 public:
  // Tolerances are those that an index.json beside the file names, else those of operators.
  // `gradients`: run what has recorded gradients backward as well. Cases that are about gradients
  // alone ("requires_grad") always are. Throws v1::Error: kNotFound, kCorruptArchive.
  explicit OpCaseBundle(const std::string& path, bool gradients = false);
  ~OpCaseBundle();
  OpCaseBundle(const OpCaseBundle&) = delete;
  OpCaseBundle& operator=(const OpCaseBundle&) = delete;

  const std::string& operator_name() const;  // "aten::add.Tensor"
  size_t size() const;
  // "aten::add.Tensor case 3 (float32)": with the id and dtype that the file gives.
  std::string label(size_t index) const;
  // Never throws for anything that a case or kernel does.
  CaseOutcome run(size_t index);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tierup::api
