// Implicit conversions of TorchScript (section 12.4 of the format): Optional, tuples to lists,
// tensors and bools to numbers, and the leniency for literals that lost their decimal point.
#pragma once

#include "tierup/frontend/torchscript/op_builder.h"

namespace tierup::frontend::torchscript {

// How far a value may be bent to a type.
enum class Conversions : uint8_t {
  kStructural,  // Only to Optional, and between tuples and lists.
  kImplicit,    // Also Tensor, number, bool -> numbers, str -> Device.
  kLiterals,    // Also an int literal where a float is wanted (the writer prints 1e12 as an int).
};

// An actual argument. `is_empty_literal`: a `[]` or `{}` written right there, without a type.
struct Actual {
  ir::Value* value = nullptr;
  bool is_empty_literal = false;
};

// Whether convert() would give a value of a subtype of `formal`. Edits nothing.
bool can_convert(const Actual& actual, const TypePtr& formal, Conversions allowed);
// The value as `formal` wants it, inserting the conversion's nodes where it needs any. Returns the
// value unchanged if there is no conversion: the caller checks with can_convert or is_subtype.
ir::Value* convert(OpBuilder& builder, const Actual& actual, const TypePtr& formal,
                   Conversions allowed);

// An int constant of the graph under construction.
bool is_int_constant(const ir::Value* value);
// `value` as a float constant; it must be an int constant.
ir::Value* float_constant(OpBuilder& builder, const ir::Value* value);

}  // namespace tierup::frontend::torchscript
