#include "tierup/ops/table/index_arithmetic.h"

namespace tierup::ops {

std::string_view operator_for(IndexOp op) {
  switch (op) {
    case IndexOp::kAdd: return "aten::add.int";
    case IndexOp::kSubtract: return "aten::sub.int";
    case IndexOp::kMultiply: return "aten::mul.int";
    case IndexOp::kFloorDivide: return "aten::floordiv.int";
    case IndexOp::kLargest: break;
  }
  return "prim::max.int";
}

}  // namespace tierup::ops
