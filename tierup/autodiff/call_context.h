// CallContext: the facts and constants of a recorded call, as every builder gives them to formulas.
#pragma once

#include "tierup/autodiff/recorded_call.h"
#include "tierup/ops/table/derivative.h"

namespace tierup::autodiff {

class CallContext : public ops::GradContext {
 public:
  explicit CallContext(RecordedCall& call) : call_(call) {}
  const ops::Op& row() const final { return *call_.op; }

 protected:
  bool wants_argument(size_t i) const final { return call_.args[i].wants_grad; }
  bool wants_element(size_t i, size_t element) const final { return at(i, element).wants_grad; }
  size_t result_count_of(size_t result) const final;
  IntSpan argument_sizes(size_t i, int64_t element) const final;
  ScalarType argument_dtype(size_t i, int64_t element) const final;
  IntSpan argument_strides(size_t i) const final { return at(i, -1).layout->strides; }
  int64_t argument_offset(size_t i) const final { return at(i, -1).layout->offset; }
  bool argument_is_tensor(size_t i) const final;
  size_t element_count(size_t i) const final;
  bool element_is_none(size_t i, size_t element) const final;
  IntSpan sizes_of_result(size_t k) const final;
  ScalarType dtype_of_result(size_t k) const final;
  IntSpan sizes_of_result_element(size_t k, size_t element) const final;
  const IValue& constant_of(size_t i) const final { return call_.args[i].constant; }

  // The argument, or an element of it.
  RecordedValue& at(size_t i, int64_t element) const;

  RecordedCall& call_;
};

// Notes in the call what the row's formula reads (RecordedValue::is_read). Returns whether that is
// anything.
bool probe_formula(RecordedCall& call);

}  // namespace tierup::autodiff
