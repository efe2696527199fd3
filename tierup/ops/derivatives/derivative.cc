// See derivative.h. Rows' derivatives stand in derivatives/*.cc and are joined to the operator
// table when a row's schema is parsed: macros make four rows of most operators (plain, in place,
// out=, an older name), and a formula belongs to all of them at once (decision 0025).
#include "tierup/ops/table/derivative.h"

#include <array>
#include <atomic>
#include <deque>
#include <mutex>
#include <string>
#include <unordered_map>

#include "tierup/base/error.h"
#include "tierup/ops/derivatives/tables.h"
#include "tierup/ops/table/op_table.h"

namespace tierup::ops {
namespace {

constexpr auto kTables = std::to_array<std::span<const DerivativeRow> (*)()>({
#define TIERUP_DERIVATIVES(name) &derivatives::name##_derivatives,
#include "tierup/ops/derivatives/tables.def"
#undef TIERUP_DERIVATIVES
});

// All that is written in derivatives/*.cc, by name, and what was made of it for rows.
class Joined {
 public:
  static Joined& instance() {
    static Joined joined;
    return joined;
  }

  const DerivativeRow* find(const std::string& name) const {
    const auto found = rows_.find(name);
    return found == rows_.end() ? nullptr : found->second;
  }

  const Derivative* keep(const Derivative& derivative) {
    const std::lock_guard lock(mutex_);
    return &made_.emplace_back(derivative);
  }

 private:
  Joined() {
    for (const auto table : kTables) {
      for (const DerivativeRow& row : table()) {
        const bool is_new = rows_.emplace(row.name, &row).second;
        require(is_new, ErrorCode::kInternal, "{} has two derivatives", row.name);
      }
    }
  }

  std::unordered_map<std::string_view, const DerivativeRow*> rows_;
  std::mutex mutex_;
  std::deque<Derivative> made_;
};

// "aten::mul_.Tensor" -> "aten::mul.Tensor"; empty if the name is not of an in-place row.
std::string functional_twin(const ir::Schema& schema) {
  if (schema.name.empty() || schema.name.back() != '_' || schema.name.ends_with("__")) return {};
  std::string name = schema.name.substr(0, schema.name.size() - 1);
  return schema.overload.empty() ? name : name + "." + schema.overload;
}

bool is_tensor_type(const TypePtr& type) {
  if (type == nullptr) return false;
  if (type->kind() == TypeKind::kOptional) return is_tensor_type(type->element());
  return type->kind() == TypeKind::kTensor;
}

bool is_tensor_list(const TypePtr& type) {
  return type != nullptr && type->kind() == TypeKind::kList && is_tensor_type(type->element());
}

bool is_in(const ir::AliasInfo& alias, const ir::Schema& schema, bool written) {
  if (alias.empty() || alias.set == "*") return false;
  for (const ir::Argument& argument : schema.arguments) {
    if (argument.alias.set == alias.set) return argument.alias.is_write == written;
  }
  return false;
}

void note_schema(const ir::Schema& schema, Derivative& derivative) {
  for (const ir::Argument& argument : schema.arguments) {
    // A list that grows is no tensor that is written.
    derivative.writes |= (argument.alias.is_write && is_tensor_type(argument.type)) ||
                         argument.element_alias.is_write;
    derivative.is_out |= argument.is_out;
  }
  for (const ir::Argument& result : schema.returns) {
    const bool is_list = is_tensor_list(result.type);
    if (result.alias.set == "*") continue;  // Something that was there before.
    derivative.makes_tensors |= is_list || is_tensor_type(result.type);
    if (is_list) {
      derivative.makes_views |= is_in(result.element_alias, schema, false);
    } else {
      derivative.makes_view |= is_in(result.alias, schema, false);
    }
  }
}

// Literals' addresses to rows: open addressing, filled for ever.
class NamedOps {
 public:
  const Op& find(const char* literal) {
    const size_t home = (reinterpret_cast<uintptr_t>(literal) >> 2) * 0x9e3779b97f4a7c15U >> 51U;
    for (size_t i = 0; i < kSize; ++i) {
      Slot& slot = slots_[(home + i) % kSize];
      const char* key = slot.key.load(std::memory_order_acquire);
      if (key == literal) {
        const Op* op = slot.op.load(std::memory_order_acquire);
        return op != nullptr ? *op : look_up(literal);
      }
      if (key != nullptr) continue;
      const Op& op = look_up(literal);
      if (slot.key.compare_exchange_strong(key, literal, std::memory_order_acq_rel)) {
        slot.op.store(&op, std::memory_order_release);
      }
      return op;
    }
    return look_up(literal);
  }

 private:
  static const Op& look_up(const char* name) {
    const Op* op = OpTable::instance().find(name);
    require(op != nullptr && op->kernel() != nullptr, ErrorCode::kInternal,
            "a derivative calls {}, which is no operator that runs", name);
    return *op;
  }

  static constexpr size_t kSize = 8192;
  struct Slot {
    std::atomic<const char*> key{nullptr};
    std::atomic<const Op*> op{nullptr};
  };
  std::array<Slot, kSize> slots_;
};

}  // namespace

const Op& named_op(OpName name) {
  static NamedOps named;
  return named.find(name.text);
}

const Derivative* find_derivative(const ir::Schema& schema) {
  Derivative derivative;
  note_schema(schema, derivative);
  const DerivativeRow* row = nullptr;
  if (!derivative.is_out) {
    row = Joined::instance().find(schema.qualified_name());
    const std::string twin = functional_twin(schema);
    if (row == nullptr && !twin.empty()) row = Joined::instance().find(twin);
  }
  if (row != nullptr) {
    derivative.kind = row->kind;
    derivative.function = row->function;
    derivative.plain_results = row->plain_results;
    derivative.keeps_elements = (row->plain_results & kKeepsElements) != 0;
    derivative.views_one_by_one = (row->plain_results & kViewsOneByOne) != 0;
    derivative.reads_layout = derivative.makes_view || (row->plain_results & kReadsLayout) != 0;
  }
  return Joined::instance().keep(derivative);
}

std::vector<const DerivativeRow*> all_derivative_rows() {
  std::vector<const DerivativeRow*> all;
  for (const auto table : kTables) {
    for (const DerivativeRow& row : table()) all.push_back(&row);
  }
  return all;
}

GradValue GradContext::grad_or_zeros(size_t result) {
  if (grad_defined(result)) return read_grad(result);
  return op("aten::zeros", sizes_of_result(result), dtype_of_result(result));
}

GradValue GradContext::grad_or_zeros_of(size_t result, size_t element) {
  const GradValue grad = read_grad_element(result, element);
  if (grad.defined()) return grad;
  return op("aten::zeros", sizes_of_result_element(result, element), dtype_of_result(result));
}

void GradContext::give_zeros(ArgIndex i) {
  const size_t index = at(i);
  if (!is_tensor(index) || list_size(index) == 0) {
    give(index, [&] { return op("aten::zeros", shape(index), dtype(index)); });
  }
  for (size_t k = 0; k < list_size(index); ++k) {
    give(index, k, [&] { return op("aten::zeros", shape(index, k), dtype(index, k)); });
  }
}

void GradContext::give_nothing_known(ArgIndex i) {
  const size_t index = at(i);
  require(!wants_argument(index), ErrorCode::kUnsupported,
          "the derivative for '{}: {}' is not implemented", row().schema().name.substr(6),
          row().schema().arguments[index].name);
}

size_t GradContext::count() const { return row().schema().arguments.size(); }

int64_t GradContext::size(ArgIndex i, int64_t dim) const {
  const IntSpan sizes = shape(i);
  return sizes[static_cast<size_t>(wrap_dim(dim, static_cast<int64_t>(sizes.size())))];
}

int64_t GradContext::numel(ArgIndex i) const { return numel_of(shape(i)); }

IntVector GradContext::ints_of(ArgIndex i) const {
  const IValue& value = constant_of(at(i));
  IntVector ints;
  if (value.is_list()) {
    for (const IValue& item : value.to_list().items) ints.push_back(item.to_scalar().to_int());
  } else if (!value.is_none()) {
    ints.push_back(value.to_scalar().to_int());
  }
  return ints;
}

GradValue GradContext::scaled(GradValue value, const Scalar& factor) {
  const bool is_one = !factor.is_complex() && factor.to_double() == 1;
  return is_one ? value : op("aten::mul.Scalar", value, factor);
}

size_t GradContext::find(const char* name) const {
  const auto index = row().schema().find_argument(name);
  require(index.has_value(), ErrorCode::kInternal, "the derivative of {} asks for '{}'",
          row().schema().qualified_name(), name);
  return *index;
}

}  // namespace tierup::ops
