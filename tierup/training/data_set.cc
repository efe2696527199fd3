#include "tierup/training/data_set.h"

#include <algorithm>
#include <cstring>

#include "tierup/base/error.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/random/random.h"

namespace tierup::training {
namespace {

std::string column_names(const archive::Safetensors& file) {
  std::string names;
  for (const auto& entry : file.entries()) {
    names += fmt::format("{}'{}' {}", names.empty() ? "" : ", ", entry.name,
                         shape_string({entry.sizes.data(), entry.sizes.size()}));
  }
  return names.empty() ? "nothing" : names;
}

}  // namespace

DataSet::DataSet(std::string name, archive::NamedTensors columns)
    : name_(std::move(name)), columns_(std::move(columns)) {
  require(!columns_.empty(), ErrorCode::kInvalidArgument, "{}: the data has no columns", name_);
  std::string lengths;
  bool equal = true;
  for (auto& [column, tensor] : columns_) {
    require(tensor.dim() > 0, ErrorCode::kInvalidArgument,
            "{}: column '{}' is a single number, not rows", name_, column);
    tensor = kernels::contiguous(tensor);
    equal = equal && tensor.size(0) == columns_[0].second.size(0);
    lengths += fmt::format("\n- '{}': {} rows", column, tensor.size(0));
  }
  require(equal, ErrorCode::kInvalidArgument, "{}: the columns have different lengths:{}", name_,
          lengths);
  rows_ = columns_[0].second.size(0);
  require(rows_ > 0, ErrorCode::kInvalidArgument, "{}: the data has no rows", name_);
}

DataSet DataSet::open(const std::string& path, const std::vector<std::string>& names) {
  const archive::Safetensors file = archive::Safetensors::open(path);
  archive::NamedTensors columns;
  std::string missing;
  for (const std::string& name : names) {
    if (!file.contains(name)) {
      missing += fmt::format("{}'{}'", missing.empty() ? "" : ", ", name);
      continue;
    }
    columns.emplace_back(name, file.tensor(name));
  }
  require(missing.empty(), ErrorCode::kInvalidArgument,
          "{}: the column {} is missing; the file has {}", path, missing, column_names(file));
  return {path, std::move(columns)};
}

Batch DataSet::rows_of(std::span<const int64_t> order) const {
  Batch batch;
  for (const auto& [name, column] : columns_) {
    IntVector sizes(column.sizes().begin(), column.sizes().end());
    sizes[0] = static_cast<int64_t>(order.size());
    const Tensor rows = Tensor::empty(sizes, column.dtype());
    const size_t bytes = column.bytes() / static_cast<size_t>(rows_);
    for (size_t i = 0; i < order.size(); ++i) {
      TIERUP_CHECK(order[i] >= 0 && order[i] < rows_);
      std::memcpy(static_cast<char*>(rows.raw()) + i * bytes,
                  static_cast<const char*>(column.raw()) + static_cast<size_t>(order[i]) * bytes,
                  bytes);
    }
    batch.push_back(rows);
  }
  return batch;
}

Batch DataSet::range(int64_t begin, int64_t end) const {
  Batch batch;
  for (const auto& [name, column] : columns_) {
    IntVector sizes(column.sizes().begin(), column.sizes().end());
    sizes[0] = end - begin;
    batch.push_back(
        column.as_view(sizes, column.strides(), column.offset() + begin * column.stride(0)));
  }
  return batch;
}

std::vector<int64_t> shuffled_order(int64_t count, kernels::Generator& generator) {
  const Tensor order = kernels::randperm(count, ScalarType::kLong, generator);
  return {order.data<int64_t>(), order.data<int64_t>() + count};
}

void check_labels(const std::string& data, const Tensor& labels, int64_t classes, int64_t ignored) {
  require(is_integral(labels.dtype(), false), ErrorCode::kInvalidArgument,
          "{}: labels are integers, not {}", data, labels.describe());
  const Tensor wide = kernels::contiguous(kernels::to_dtype(labels, ScalarType::kLong));
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const int64_t label = wide.data<int64_t>()[i];
    if (label == ignored || (label >= 0 && label < classes)) continue;
    fail(ErrorCode::kInvalidArgument, "{}: label {} at position {} is not below the {} classes",
         data, label, i, classes);
  }
}

}  // namespace tierup::training
