#include "tierup/ops/regions/row_meaning.h"

#include <algorithm>
#include <cstring>

#include "tierup/ops/table/op.h"

namespace tierup::ops {
namespace {

constexpr int64_t kRows = 2;
constexpr int64_t kWidth = 3;
constexpr int64_t kKept = 4;  // Of a row's dimensions that the call does not go over.

bool is_dims(const std::string& name) { return name == "dim" || name == "dims"; }

bool is_int_list(const IValue& value) {
  if (!value.is_list()) return false;
  const auto& items = value.to_list().items;
  return std::all_of(items.begin(), items.end(), [](const IValue& item) { return item.is_int(); });
}

IntVector ints_of(const IValue& value) {
  IntVector result;
  for (const IValue& item : value.to_list().items) result.push_back(item.to_int());
  return result;
}

// Rows to try the call on.
struct TriedRow {
  IntVector sizes;
  size_t folded = 0;  // How many of the dimensions the call goes over: the first ones.
};
TriedRow row_from(int64_t first, size_t folded) {
  TriedRow row{IntVector(static_cast<size_t>(-first), kKept), folded};
  std::fill_n(row.sizes.begin(), folded, kWidth);
  return row;
}

// None if it does not go over dimensions that stand together, counted from the last one.
std::optional<TriedRow> tried_row(const Op& op, const std::vector<MeaningArgument>& arguments) {
  for (size_t i = 1; i < arguments.size(); ++i) {
    const std::string& name = op.schema().arguments[i].name;
    const IValue& value = arguments[i].value;
    if (name == "normalized_shape") {
      if (!is_int_list(value) || value.to_list().items.empty()) return std::nullopt;
      IntVector sizes = ints_of(value);
      const size_t rank = sizes.size();
      return TriedRow{std::move(sizes), rank};
    }
    if (!is_dims(name)) continue;
    if (value.is_int()) {
      return value.to_int() < 0 ? std::optional(row_from(value.to_int(), 1)) : std::nullopt;
    }
    if (!is_int_list(value) || value.to_list().items.empty()) return std::nullopt;
    IntVector dims = ints_of(value);
    std::sort(dims.begin(), dims.end());
    for (size_t d = 0; d < dims.size(); ++d) {
      if (dims[d] != dims[0] + static_cast<int64_t>(d)) return std::nullopt;
    }
    return dims.back() < 0 ? std::optional(row_from(dims[0], dims.size())) : std::nullopt;
  }
  return std::nullopt;
}

Tensor zeros(const IntVector& sizes, ScalarType dtype) {
  const Tensor tensor = Tensor::empty(sizes, dtype);
  std::memset(tensor.raw(), 0, tensor.bytes());
  return tensor;
}

bool has_sizes(const Tensor& tensor, const IntVector& sizes) {
  return std::equal(tensor.sizes().begin(), tensor.sizes().end(), sizes.begin(), sizes.end());
}

// Runs the call on rows of zeros.
Tensor tried(const Op& op, const std::vector<MeaningArgument>& arguments, const IntVector& whole,
             const IntVector& column, const IntVector& row, size_t which) {
  std::vector<IValue> values;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const auto& form = arguments[i].tensor;
    const IntVector& sizes = i == 0 ? whole : is_for_each_row(op, i) ? column : row;
    values.push_back(form ? IValue(zeros(sizes, form->dtype)) : arguments[i].value);
  }
  std::vector<IValue> results(op.schema().returns.size());
  RunContext context;
  OpCall call{values, results, context};
  op.kernel()(call);
  return results.at(which).to_tensor();
}

bool has_tensors_beside(const std::vector<MeaningArgument>& arguments) {
  return std::any_of(arguments.begin() + 1, arguments.end(),
                     [](const MeaningArgument& argument) { return argument.tensor.has_value(); });
}

}  // namespace

bool is_for_each_row(const Op& op, size_t argument) {
  return op.schema().arguments[argument].name == "index";
}

RowMeaning row_meaning_of(const Op& op, const std::vector<MeaningArgument>& arguments,
                          size_t which) {
  RowMeaning meaning;
  const std::optional<TriedRow> row = tried_row(op, arguments);
  if (!row || !arguments[0].tensor || !has_lanes(arguments[0].tensor->dtype)) {
    meaning.refusal = GroupRefusal::kNotLastDimensions;
    return meaning;
  }
  meaning.row_rank = row->sizes.size();
  meaning.folded = row->folded;
  const bool keeps_some = row->folded < meaning.row_rank;
  if (keeps_some && has_tensors_beside(arguments)) {
    meaning.refusal = GroupRefusal::kNotLastDimensions;
    return meaning;
  }
  IntVector whole{kRows};
  IntVector column{kRows};
  IntVector part{kRows};
  IntVector flat_part{kRows};
  for (size_t d = 0; d < meaning.row_rank; ++d) {
    const int64_t size = row->sizes[d];
    whole.push_back(size);
    column.push_back(1);
    part.push_back(d < row->folded ? 1 : size);
    if (d >= row->folded) flat_part.push_back(size);
  }
  try {
    const Tensor result = tried(op, arguments, whole, column, row->sizes, which);
    meaning.result = {result.dtype(), PromotionCategory::kDimensioned};
    if (has_sizes(result, whole)) {
      meaning.space = RowSpace::kFull;
    } else if (keeps_some && has_sizes(result, part)) {
      meaning.space = RowSpace::kPart;
    } else if (keeps_some && has_sizes(result, flat_part)) {
      meaning.space = RowSpace::kFlatPart;
    } else if (has_sizes(result, column)) {
      meaning.space = RowSpace::kColumn;
    } else if (has_sizes(result, {kRows})) {
      meaning.space = RowSpace::kFlat;
    } else {
      meaning.refusal = GroupRefusal::kOtherRows;
    }
    if (!has_lanes(result.dtype())) meaning.refusal = GroupRefusal::kNoLanes;
  } catch (const Error& error) {
    meaning.refusal = {GroupRefusal::kRaises, error.message()};
  }
  return meaning;
}

bool count_from_back(const Op& op, std::vector<MeaningArgument>& arguments, int64_t rank) {
  bool changed = false;
  const auto from_back = [&](int64_t dim) {
    changed = changed || dim >= 0;
    return dim >= 0 ? dim - rank : dim;
  };
  for (size_t i = 1; i < arguments.size(); ++i) {
    IValue& value = arguments[i].value;
    if (arguments[i].tensor || !is_dims(op.schema().arguments[i].name)) continue;
    if (value.is_int()) {
      value = IValue(from_back(value.to_int()));
    } else if (is_int_list(value)) {
      IntVector dims = ints_of(value);
      std::transform(dims.begin(), dims.end(), dims.begin(), from_back);
      value = IValue(make_int_list(dims));
    }
  }
  return changed;
}

}  // namespace tierup::ops
