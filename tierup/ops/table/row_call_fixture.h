// For tests that call the kernel of an operator's row.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "tierup/ops/table/op_table.h"

namespace tierup::ops::testing {

inline Tensor filled(const std::vector<int64_t>& shape, float value) {
  const Tensor t = Tensor::empty(shape, ScalarType::kFloat);
  std::fill_n(t.data<float>(), t.numel(), value);
  return t;
}

// The only result. What was moved into `args` is held by the call alone.
inline IValue call_row(std::string_view name, std::vector<IValue> args) {
  const Op* op = OpTable::instance().find(name);
  EXPECT_NE(op, nullptr) << name;
  std::vector<IValue> results(1);
  RunContext context;
  OpCall op_call{args, results, context};
  op->kernel()(op_call);
  return results[0];
}

}  // namespace tierup::ops::testing
