// DataSet: columns of equal length, and batches of their rows.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tierup/archive/safetensors.h"
#include "tierup/kernels/random/generator.h"
#include "tierup/tensor/tensor.h"

namespace tierup::training {

// Rows of every column of a data set, in its order of columns.
using Batch = std::vector<Tensor>;

// Thread rule: constant after creation.
class DataSet {
 public:
  // Columns as [N, ...]. Throws kInvalidArgument for none, for a column without a first dimension,
  // for lengths that differ (all listed), and for no rows.
  DataSet(std::string name, archive::NamedTensors columns);
  // The columns `names` of a safetensors file. Throws also kInvalidArgument, naming what the file
  // has, for columns that are missing.
  static DataSet open(const std::string& path, const std::vector<std::string>& names);

  const std::string& name() const { return name_; }
  int64_t rows() const { return rows_; }
  const archive::NamedTensors& columns() const { return columns_; }

  // Row `order[i]` of every column as row i, in memory of its own.
  Batch rows_of(std::span<const int64_t> order) const;
  // Rows [begin, end), as views.
  Batch range(int64_t begin, int64_t end) const;

 private:
  std::string name_;
  archive::NamedTensors columns_;
  int64_t rows_ = 0;
};

// A permutation of 0 ... count - 1, drawn as torch.randperm draws it.
std::vector<int64_t> shuffled_order(int64_t count, kernels::Generator& generator);

// Throws kInvalidArgument unless `labels` are integers in [0, classes), naming the first that is
// not; `ignored` ones are let through.
void check_labels(const std::string& data, const Tensor& labels, int64_t classes,
                  int64_t ignored = -100);

}  // namespace tierup::training
