// Derivative: how gradients pass through an operator: one formula, for the tape and for graphs.
//
// A formula is a function over a GradContext whose values are opaque. The tape's builder runs what
// it calls at once, on tensors; a graph's builder would emit nodes; the probe only notes what is
// read, which is what a recorded call has to save. So a formula holds no arithmetic on tensors: it
// calls rows, each of which has a derivative of its own, and second order needs nothing more.
//
//   void mul(GradContext& c) {
//     c.give(0, [&] { return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(1))); });
//     c.give(1, [&] { return c.op("aten::mul.Tensor", c.grad(), c.conj(c.arg(0))); });
//   }
//
// What a formula may steer by: wants, has_grad, is_none, rank, dtype, shape and the constants
// (int_of...); never the values of tensors. A gradient may be undefined (None, a zero that nobody
// made): an operator called with an undefined operand gives an undefined value, but sums and
// differences, which give the other one; so formulas need no test. `give` undoes broadcasting,
// casts to the argument's dtype, and takes the real part for a real argument, in one place.
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "tierup/ops/table/op.h"

namespace tierup::ops {

// A value of a formula: a number that its builder knows. Default-made: undefined.
class GradValue {
 public:
  GradValue() = default;
  explicit GradValue(int32_t index) : index_(index) {}
  bool defined() const { return index_ >= 0; }
  int32_t index() const { return index_; }

 private:
  int32_t index_ = -1;
};

// The name of a row, "aten::mul.Tensor": a literal, so that it is looked up once (named_op).
struct OpName {
  // NOLINTNEXTLINE(google-explicit-constructor): a literal names a row.
  consteval OpName(const char* literal) : text(literal) {}
  const char* text;
};

// The row of that name; one hash of the literal's address after its first use. Thread-safe. Throws
// kInternal if no row has the name.
const Op& named_op(OpName name);

// An operand of a call that a formula makes: a value, a list of values, or a constant.
class GradArg {
 public:
  // NOLINTBEGIN(google-explicit-constructor): operands are written as they are.
  GradArg(GradValue value) : kind(Kind::kValue), value(value) {}
  GradArg(std::vector<GradValue> values) : kind(Kind::kList), list(std::move(values)) {}
  GradArg(IValue v) : constant(std::move(v)) {}
  GradArg(std::nullptr_t) {}  // None.
  GradArg(int v) : constant(v) {}
  GradArg(int64_t v) : constant(v) {}
  GradArg(double v) : constant(v) {}
  GradArg(bool v) : constant(v) {}
  GradArg(const char* v) : constant(v) {}
  GradArg(const Scalar& v) : constant(v) {}
  GradArg(ScalarType v) : constant(static_cast<int64_t>(v)) {}
  GradArg(MemoryFormat v) : constant(static_cast<int64_t>(v)) {}
  GradArg(IntSpan v) : constant(make_int_list(v)) {}
  GradArg(const IntVector& v) : GradArg(IntSpan(v.data(), v.size())) {}
  // NOLINTEND(google-explicit-constructor)

  enum class Kind : uint8_t { kConstant, kValue, kList };
  Kind kind = Kind::kConstant;
  GradValue value;
  std::vector<GradValue> list;
  IValue constant;
};

// An argument, by its place in the schema or by its name.
struct ArgIndex {
  // NOLINTBEGIN(google-explicit-constructor): c.arg(1), c.arg("weight").
  ArgIndex(int i) : index(static_cast<size_t>(i)) {}
  ArgIndex(size_t i) : index(i) {}
  ArgIndex(const char* n) : name(n) {}
  // NOLINTEND(google-explicit-constructor)
  size_t index = 0;
  const char* name = nullptr;
};

// What a formula sees of the call that it differentiates; in a decomposition, of the call itself.
// Arguments are those of the schema, defaults filled in. Of an in-place operator, argument 0 is the
// value before the call, and result 0 the one after it.
class GradContext {
 public:
  using Give = std::function<GradValue()>;
  virtual ~GradContext() = default;

  // --- gradients of the results
  bool has_grad(size_t result = 0) const { return grad_defined(result); }
  GradValue grad(size_t result = 0) { return read_grad(result); }
  // Zeros of the result's sizes and dtype where the gradient is undefined.
  GradValue grad_or_zeros(size_t result = 0);
  // The gradients of the elements of a result that is a list of tensors (split, unbind).
  size_t result_list_size(size_t result = 0) const { return result_count_of(result); }
  GradValue grad_of(size_t result, size_t element) { return read_grad_element(result, element); }
  GradValue grad_or_zeros_of(size_t result, size_t element);

  // --- gradients of the arguments
  // Whether the argument (of a list: any element) wants a gradient.
  bool wants(ArgIndex i) const { return wants_argument(at(i)); }
  bool wants(ArgIndex i, size_t element) const { return wants_element(at(i), element); }
  // Calls `f` if the argument wants a gradient, and gives it the value, un-broadcast and cast.
  template <typename F>
  void give(ArgIndex i, F&& f) {
    const size_t index = at(i);
    if (wants_argument(index)) take(index, -1, f());
  }
  template <typename F>
  void give(ArgIndex i, size_t element, F&& f) {
    const size_t index = at(i);
    if (wants_element(index, element)) take(index, static_cast<int64_t>(element), f());
  }
  // Zeros, where the derivative is zero (and not: nothing).
  void give_zeros(ArgIndex i);
  // Raises the error of a missing derivative if the argument wants a gradient.
  void give_nothing_known(ArgIndex i);

  // --- values of the call; what is read is saved from the forward on
  GradValue arg(ArgIndex i) { return read_argument(at(i), -1); }
  GradValue arg(ArgIndex i, size_t element) {
    return read_argument(at(i), static_cast<int64_t>(element));
  }
  GradValue result(size_t k = 0) { return read_result(k); }

  // --- facts of tensors, which keep nothing
  // As values (a list of ints, an int), for operands of calls.
  GradValue sizes(ArgIndex i) { return constant(make_int_list(argument_sizes(at(i), -1))); }
  GradValue sizes(ArgIndex i, size_t k) {
    return constant(make_int_list(argument_sizes(at(i), static_cast<int64_t>(k))));
  }
  // As numbers, where the formula's form depends on them.
  IntSpan shape(ArgIndex i) const { return argument_sizes(at(i), -1); }
  IntSpan shape(ArgIndex i, size_t k) const {
    return argument_sizes(at(i), static_cast<int64_t>(k));
  }
  IntSpan result_shape(size_t k = 0) const { return sizes_of_result(k); }
  IntSpan result_shape(size_t k, size_t element) const {
    return sizes_of_result_element(k, element);
  }
  int64_t size(ArgIndex i, int64_t dim) const;  // `dim` may be negative.
  int64_t numel(ArgIndex i) const;
  int64_t rank(ArgIndex i) const { return static_cast<int64_t>(shape(i).size()); }
  int64_t result_rank(size_t k = 0) const {
    return static_cast<int64_t>(sizes_of_result(k).size());
  }
  ScalarType dtype(ArgIndex i) const { return argument_dtype(at(i), -1); }
  ScalarType dtype(ArgIndex i, size_t k) const {
    return argument_dtype(at(i), static_cast<int64_t>(k));
  }
  ScalarType result_dtype(size_t k = 0) const { return dtype_of_result(k); }
  // How the argument lies in memory: of rows that make a view (as_strided) or read layouts alone.
  IntSpan strides(ArgIndex i) const { return argument_strides(at(i)); }
  int64_t offset(ArgIndex i) const { return argument_offset(at(i)); }
  bool is_complex(ArgIndex i) const { return tierup::is_complex(dtype(i)); }
  bool is_tensor(ArgIndex i) const { return argument_is_tensor(at(i)); }

  // --- constants of the call
  size_t count() const;  // Arguments of the schema.
  bool is_none(ArgIndex i) const { return constant_of(at(i)).is_none() && !is_tensor(i); }
  // Of a list argument (of tensors, too).
  size_t list_size(ArgIndex i) const { return element_count(at(i)); }
  bool is_none(ArgIndex i, size_t element) const { return element_is_none(at(i), element); }
  const IValue& value_of(ArgIndex i) const { return constant_of(at(i)); }  // None for tensors.
  int64_t int_of(ArgIndex i) const { return constant_of(at(i)).to_scalar().to_int(); }
  double float_of(ArgIndex i) const { return constant_of(at(i)).to_scalar().to_double(); }
  bool bool_of(ArgIndex i) const { return constant_of(at(i)).to_scalar().to_bool(); }
  Scalar scalar_of(ArgIndex i) const { return constant_of(at(i)).to_scalar(); }
  std::string_view string_of(ArgIndex i) const { return constant_of(at(i)).to_str(); }
  IntVector ints_of(ArgIndex i) const;  // Of an int: that one.
  int64_t int_of(ArgIndex i, int64_t if_none) const { return is_none(i) ? if_none : int_of(i); }
  double float_of(ArgIndex i, double if_none) const { return is_none(i) ? if_none : float_of(i); }

  // --- calls of rows
  // Operands in the schema's order; those left away have their defaults. One result.
  template <typename... Args>
  GradValue op(OpName name, Args&&... args) {
    GradArg operands[] = {GradArg(std::forward<Args>(args))...};
    GradValue result;
    call(named_op(name), operands, {&result, 1});
    return result;
  }
  // The same with several results (of the schema; a list of tensors is one result: see elements).
  template <typename... Args>
  std::vector<GradValue> ops(size_t results, OpName name, Args&&... args) {
    GradArg operands[] = {GradArg(std::forward<Args>(args))...};
    std::vector<GradValue> made(results);
    call(named_op(name), operands, made);
    return made;
  }
  // The tensors of a list that a row gave; `count` of them.
  std::vector<GradValue> elements(GradValue list, size_t count) { return unpack(list, count); }
  // The conjugate if the value is complex, else the value.
  GradValue conj(GradValue value) { return conjugate(value); }
  // `value * factor`, leaving out a factor of exactly 1 (D2).
  GradValue scaled(GradValue value, const Scalar& factor);
  // The sum, either of which may be undefined.
  GradValue sum(GradValue a, GradValue b) { return op("aten::add.Tensor", a, b); }

  // --- decompositions alone
  // Makes result k of the call: a tensor, or a list of tensors.
  void set_result(size_t k, GradValue value) { take_result(k, value); }
  void set_result(size_t k, std::vector<GradValue> values) { take_result_list(k, values); }

  // The row whose call this is.
  virtual const Op& row() const = 0;

 protected:
  virtual bool grad_defined(size_t result) const = 0;
  virtual GradValue read_grad(size_t result) = 0;
  virtual size_t result_count_of(size_t result) const = 0;
  virtual GradValue read_grad_element(size_t result, size_t element) = 0;
  virtual bool wants_argument(size_t i) const = 0;
  virtual bool wants_element(size_t i, size_t element) const = 0;
  virtual void take(size_t i, int64_t element, GradValue value) = 0;
  virtual GradValue read_argument(size_t i, int64_t element) = 0;
  virtual GradValue read_result(size_t k) = 0;
  // `element`: of a list argument; -1: the argument is the tensor.
  virtual IntSpan argument_sizes(size_t i, int64_t element) const = 0;
  virtual ScalarType argument_dtype(size_t i, int64_t element) const = 0;
  virtual IntSpan argument_strides(size_t i) const = 0;
  virtual int64_t argument_offset(size_t i) const = 0;
  virtual bool argument_is_tensor(size_t i) const = 0;
  virtual size_t element_count(size_t i) const = 0;
  virtual bool element_is_none(size_t i, size_t element) const = 0;
  virtual IntSpan sizes_of_result(size_t k) const = 0;
  virtual ScalarType dtype_of_result(size_t k) const = 0;
  virtual IntSpan sizes_of_result_element(size_t k, size_t element) const = 0;
  virtual const IValue& constant_of(size_t i) const = 0;
  virtual GradValue constant(IValue value) = 0;
  virtual void call(const Op& op, std::span<GradArg> operands, std::span<GradValue> results) = 0;
  virtual std::vector<GradValue> unpack(GradValue list, size_t count) = 0;
  virtual GradValue conjugate(GradValue value) = 0;
  virtual void take_result(size_t k, GradValue value) = 0;
  virtual void take_result_list(size_t k, const std::vector<GradValue>& values) = 0;

 private:
  size_t at(ArgIndex i) const { return i.name == nullptr ? i.index : find(i.name); }
  size_t find(const char* name) const;  // Throws kInternal if the schema has no such argument.
};

using GradFn = void (*)(GradContext& context);

enum class DerivativeKind : uint8_t {
  kMissing,        // Results require gradients; a backward pass that comes here raises.
  kFormula,        // `function` gives the gradients.
  kDecomposition,  // `function` makes the results by other rows, which are differentiated.
  kZero,           // Defined zeros for every argument.
  kNone,           // Results never require gradients.
};

// In the plain_results of a decomposition: PyTorch differentiates the row as one, so that all its
// results require gradients where an argument does, also those that none reaches.
inline constexpr uint32_t kDifferentiatedAsOne = 1U << 31;
// In those of a row whose written argument keeps its elements: its flag or its record changes, or
// it takes other memory.
inline constexpr uint32_t kKeepsElements = 1U << 30;
// In those of a row whose function asks how arguments lie in memory.
inline constexpr uint32_t kReadsLayout = 1U << 29;
// In those of a row that makes a list of views, each of which is as if it was made alone: PyTorch
// slices one after the other there, so that it lets them be written, as it does not after a split.
inline constexpr uint32_t kViewsOneByOne = 1U << 28;

// As written in derivatives/*.cc. In-place rows have their functional twin's unless they have one
// of their own ("aten::mul_.Tensor": that of "aten::mul.Tensor"); out= rows have none.
struct DerivativeRow {
  const char* name;  // "aten::mul.Tensor"
  DerivativeKind kind = DerivativeKind::kMissing;
  GradFn function = nullptr;
  uint32_t plain_results = 0;  // Bit k: result k never requires gradients.

  // NOLINTBEGIN(google-explicit-constructor): {"aten::neg", &neg}.
  constexpr DerivativeRow(const char* n, GradFn formula, uint32_t plain = 0)
      : name(n), kind(DerivativeKind::kFormula), function(formula), plain_results(plain) {}
  constexpr DerivativeRow(const char* n, DerivativeKind k, GradFn f = nullptr, uint32_t plain = 0)
      : name(n), kind(k), function(f), plain_results(plain) {}
  // NOLINTEND(google-explicit-constructor)
};

// What Op::derivative() points at; never null for a row of the table. Constant.
struct Derivative {
  DerivativeKind kind = DerivativeKind::kMissing;
  GradFn function = nullptr;
  uint32_t plain_results = 0;
  // What the schema says of tensors, so that a recorded call need not look there.
  bool makes_tensors = false;   // Some result is a Tensor or a list of them, by its declared type.
  bool writes = false;          // Some argument is written.
  bool keeps_elements = false;  // What it writes is no element of a tensor.
  bool is_out = false;          // An out= row.
  bool makes_view = false;      // Some result is a view of an argument (and not a written one).
  bool makes_views = false;     // ... a list of views.
  bool views_one_by_one = false;  // ... each of which may be written.
  bool reads_layout = false;      // The function asks how arguments lie in memory.
};

// The derivative of a schema's row, made once for each.
const Derivative* find_derivative(const ir::Schema& schema);

// Every row written in derivatives/*.cc, for tests and listings.
std::vector<const DerivativeRow*> all_derivative_rows();

}  // namespace tierup::ops
