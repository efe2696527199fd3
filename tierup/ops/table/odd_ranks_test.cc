// Every operator called with tensors without dimensions, whose dimension 0 there is and is not
// (wrap_dim lets it pass, and nothing has a size there), and with tensors of more dimensions than a
// mask of 64 bits names. Sanitizers watch.
#include <gtest/gtest.h>

#include <new>
#include <optional>
#include <stdexcept>
#include <vector>

#include "tierup/base/error.h"
#include "tierup/base/parallel.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::ops {
namespace {

// What stands for every argument of a type.
struct Choice {
  ScalarType dtype;
  size_t rank;
  int64_t number;
  size_t items;  // Of each list.
  bool gives_optional;
  bool flag;
};

// One element.
Tensor tensor_of(const Choice& choice) {
  return Tensor::scalar(Scalar(int64_t{1}), choice.dtype)
      .as_view(IntVector(choice.rank, 1), IntVector(choice.rank, 1), 0);
}

std::optional<IValue> value_of(const Type& type, const Choice& choice) {
  switch (type.kind()) {
    case TypeKind::kTensor: return IValue(tensor_of(choice));
    case TypeKind::kNumber:
    case TypeKind::kInt: return IValue(choice.number);
    case TypeKind::kFloat: return IValue(0.5);
    case TypeKind::kBool: return IValue(choice.flag);
    case TypeKind::kStr: return IValue("mean");
    case TypeKind::kOptional:
      return choice.gives_optional ? value_of(*type.element(), choice) : IValue();
    case TypeKind::kList: {
      std::vector<IValue> items;
      for (size_t i = 0; i < choice.items; ++i) {
        std::optional<IValue> item = value_of(*type.element(), choice);
        if (!item) return std::nullopt;
        items.push_back(std::move(*item));
      }
      return IValue(make_ref<ListValue>(type.element(), std::move(items)));
    }
    default: return std::nullopt;
  }
}

// No arguments where one has no value here.
std::optional<std::vector<IValue>> arguments_of(const ir::Schema& schema, const Choice& choice) {
  std::vector<IValue> args;
  for (const ir::Argument& argument : schema.arguments) {
    const bool is_given = !argument.default_value || choice.gives_optional;
    std::optional<IValue> value = is_given ? value_of(*argument.type, choice) : std::nullopt;
    if (!value && argument.default_value) value = *argument.default_value;
    if (!value) return std::nullopt;
    args.push_back(std::move(*value));
  }
  return args;
}

void call_with(const Op& op, const Choice& choice) {
  std::optional<std::vector<IValue>> args = arguments_of(op.schema(), choice);
  if (!args) return;
  std::vector<IValue> results(op.schema().returns.size());
  kernels::Generator generator(1);
  RunContext context;
  context.generator = &generator;
  context.print = context.warn = [](const std::string&) {};
  OpCall call{*args, results, context};
  try {
    op.kernel()(call);
  } catch (const Error& error) {
    EXPECT_NE(error.code(), ErrorCode::kInternal) << op.schema().to_string() << error.what();
  } catch (const std::bad_alloc&) {     // An Error by the time it leaves a run,
  } catch (const std::length_error&) {  // as this one is.
  }
}

// With dimensions there are, or are not, of each kind of tensor, flag and list.
void call_in_all_ways(const Op& op, size_t rank) {
  const auto most = static_cast<int64_t>(rank) - 1;
  for (const ScalarType dtype : {ScalarType::kFloat, ScalarType::kLong, ScalarType::kBool}) {
    for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{1}, most}) {
      for (const size_t items : {0, 1, 2}) {
        for (const int flags : {0, 1, 2, 3}) {
          call_with(op, {dtype, rank, number, items, (flags & 1) != 0, (flags & 2) != 0});
        }
      }
    }
  }
}

TEST(EveryOperator, TakesOrRefusesTensorsOfNoDimensionsAndOfTooMany) {
  const ThreadCountScope one_thread(1);
  for (const Op* op : OpTable::instance().all()) {
    if (op->kernel() == nullptr) continue;
    SCOPED_TRACE(op->schema().to_string());
    for (const size_t rank : {0, 65}) call_in_all_ways(*op, rank);
  }
}

}  // namespace
}  // namespace tierup::ops
