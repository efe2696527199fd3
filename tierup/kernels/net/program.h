// Program: a straight line of tensor operators that is to be compiled as a whole.
//
// A pass (passes/fuse/neural_regions.cc) cuts such lines out of a graph: convolutions, linear
// layers and what stands between them. Operators keep their arguments as the schema orders them;
// each is a value of the line or a constant. Everything here is pure: what was in place in the
// graph has a new value here. A program is constant after it was made.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/kernels/net/net_refusal.h"
#include "tierup/kernels/net/op_kind.h"
#include "tierup/kernels/pointwise/pointwise_runs.h"
#include "tierup/tensor/ivalue.h"

namespace tierup::kernels::net {

struct Arg {
  int value = -1;  // A value of the program; negative: the constant.
  IValue constant;
  bool is_value() const { return value >= 0; }
};

// What a point-wise operator means: a body, and its operands, which are arguments or numbers.
struct Pointwise {
  Body body = Body::kIdentity;
  std::vector<std::variant<size_t, float>> operands;
};

struct Op {
  OpKind kind = OpKind::kNone;
  bool keeps_shape = false;  // Was in place: the result must have the first argument's geometry.
  std::vector<Arg> args;
  size_t result_count = 1;  // Of the operator's schema.
  std::vector<int> outputs;
  std::vector<int> last_reads;  // Values that no later operator reads and that are no outputs.
  Pointwise pointwise;          // Without operands: it is none.
};

// Something that no net does.
class NotCompiled final : public Error {
 public:
  explicit NotCompiled(NetRefusal reason)
      : Error(ErrorCode::kUnsupported, std::string(refusal_text(reason))), reason_(reason) {}
  NetRefusal reason() const { return reason_; }

 private:
  NetRefusal reason_;
};
inline void require_compiled(bool condition, NetRefusal reason) {
  if (!condition) throw NotCompiled(reason);
}

// Why a program is not compiled for some inputs, and the operator of it that is at fault.
class Refused final : public Error {
 public:
  Refused(size_t operation, NetRefusal reason, std::string detail = {})
      : Error(ErrorCode::kUnsupported,
              fmt::format("operator {} of the line: {}", operation, refusal_text(reason))),
        operation_(operation),
        reason_(reason),
        detail_(std::move(detail)) {}
  size_t operation() const { return operation_; }
  NetRefusal reason() const { return reason_; }
  // What is particular to the case; may be empty.
  const std::string& detail() const { return detail_; }

 private:
  size_t operation_;
  NetRefusal reason_;
  std::string detail_;
};

// Inputs may be tensors, or numbers and lists that sizes depend on; outputs are tensors.
struct Program {
  int value_count = 0;
  std::vector<int> inputs;
  std::vector<int> outputs;
  std::vector<Op> ops;
};

}  // namespace tierup::kernels::net
