// Op: one row of the operator table, the whole definition of an operator.
//
// Parser, verifier, alias analysis, shape inference, tier 0, fusion, autodiff and the manual
// read these rows and nothing else. If a pass needs a fact about an operator, the fact becomes
// a field here; a pass never lists operator names. A row names its kernel through a
// boxing adapter (boxing.h) that turns IValues into the kernel's C++ arguments.
#pragma once

#include <mutex>
#include <span>
#include <string_view>
#include <vector>

#include "tierup/ir/operator.h"
#include "tierup/kernels/net/op_kind.h"
#include "tierup/ops/table/run_context.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::ops {

// Arguments and results of one call. All arguments of the schema are there, defaults filled in;
// a vararg operator gets them all. Arguments may be moved from. One result per return.
struct OpCall {
  std::span<IValue> args;
  std::span<IValue> results;
  RunContext& context;
};
using KernelFn = void (*)(OpCall& call);

struct ShapeContext;  // Filled by analysis: shapes and constants of the arguments, symbols.
using ShapeFn = void (*)(ShapeContext& context);
struct ScalarBody;  // The per-element meaning of a point-wise operator; see pointwise_rows.h.
struct Derivative;  // How gradients pass through an operator; see derivative.h.

// What a row does: a kernel, and for pure point-wise operators the meaning that the kernel runs.
struct RowKernel {
  // NOLINTBEGIN(google-explicit-constructor): rows name a kernel, and perhaps more.
  constexpr RowKernel(KernelFn kernel = nullptr) : call(kernel) {}
  constexpr RowKernel(KernelFn kernel, const ScalarBody* meaning) : call(kernel), body(meaning) {}
  // NOLINTEND(google-explicit-constructor)
  KernelFn call;
  const ScalarBody* body = nullptr;
};

// The values stand in facts.h and role.h.
enum class Role : uint8_t;
enum class Fits : uint8_t;
enum class Work : uint8_t;
enum class ProductKind : uint8_t;
enum class JoinKind : uint8_t;
enum class LookUpKind : uint8_t;
enum class FoldKind : uint8_t;

// What others know of an operator beside what it does; rows name what differs from nothing.
struct RowFacts {
  Role role{};                    // What passes may recognise it as.
  Fits fits{};                    // When it is known not to raise.
  bool changes_geometry = false;  // It gives the tensor that it writes other sizes or strides.
  Work work{};                    // How its arithmetic follows from the sizes.
  kernels::net::OpKind net{};     // What it is to compiled nets.
  ProductKind product{};          // ... and to fusion groups.
  JoinKind join{};
  LookUpKind look_up{};
  FoldKind fold{};
};

// As written in the family files.
struct OpRow {
  const char* schema;
  RowKernel kernel = nullptr;
  uint8_t effects = ir::kNoEffect;
  ShapeFn shape = nullptr;
  RowFacts facts{};
  const char* same_as = nullptr;  // The operator that this is another name of.
};

// Another name of an operator, by its qualified name: `aten::concat` of `aten::cat`. All but the
// schema is that operator's: kernel, effects, shapes, facts and derivative. The arguments are alike
// but for their names.
constexpr OpRow other_name(const char* schema, const char* of) {
  return {.schema = schema, .same_as = of};
}

class Op final : public ir::Operator {
 public:
  explicit Op(const OpRow& row);  // Parses the schema.
  // Another name of `of`, which must outlive it.
  Op(const OpRow& row, const Op& of);
  // What defines it: of another name, the operator's own row.
  const OpRow& row() const { return *row_; }
  KernelFn kernel() const { return row_->kernel.call; }
  // Null unless the operator is pure and point-wise.
  const ScalarBody* body() const { return row_->kernel.body; }
  const RowFacts& facts() const { return row_->facts; }
  Role role() const { return row_->facts.role; }
  // Null: no derivative is known.
  const Derivative* derivative() const { return derivative_; }

 private:
  const OpRow* row_;
  const Derivative* derivative_ = nullptr;
};

// The row behind a node's operator: every operator of a graph that runs comes from this table.
inline const Op& op_of(const ir::Operator& op) { return static_cast<const Op&>(op); }

}  // namespace tierup::ops
