// Operators that come with a model's options instead of the table: rows made at run time.
//
// Such an operator's node looks like any other to front ends, passes and analyses. Its kernel,
// call_external, needs to know whose it is: lowering appends the row's target to the inputs of the
// step, as a constant.
#pragma once

#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

// What an external operator does. Thread rule: call() from any number of threads.
class ExternalTarget : public RefCounted {
 public:
  // As a kernel. Throws Error.
  virtual void call(OpCall& call) const = 0;
};

// A kernel whose last argument is a capsule with an ExternalTarget.
void call_external(OpCall& call);
// The target that lowering appends; null for operators of the table.
const Ref<ExternalTarget>* external_target(const Op& op);

// The external operators of one model. Constant once the model is loaded.
class ExternalOperators {
 public:
  ExternalOperators() = default;
  ExternalOperators(const ExternalOperators&) = delete;
  ExternalOperators& operator=(const ExternalOperators&) = delete;

  // Throws kSyntax for a schema that does not parse, kInvalidArgument for a name that is taken.
  const Op& add(std::string schema, uint8_t effects, Ref<ExternalTarget> target);
  // By "my::scale" or "my::scale.overload"; null if there is none.
  const Op* find(std::string_view qualified_name) const;
  std::vector<const Op*> overloads(std::string_view name) const;
  size_t size() const { return entries_.size(); }

 private:
  struct Row : OpRow {
    std::string text;
    Ref<ExternalTarget> target;
  };
  struct Entry {
    explicit Entry(const Row& from) : op(from) {}
    Op op;
  };
  friend const Ref<ExternalTarget>* external_target(const Op& op);
  std::deque<Row> rows_;
  std::deque<Entry> entries_;
};

}  // namespace tierup::ops
