#include "tierup/ops/table/work.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "tierup/tensor/tensor.h"

namespace tierup::ops {
namespace {

// How the operations follow from the sizes.
enum class Work : uint8_t {
  kProduct,       // Result elements times the last dimension of the first argument.
  kAddedProduct,  // The same by the second argument; the first is added.
  kConvolution,   // Result elements times the weight's elements per output channel.
  kAttention,     // Two products over query, key and value.
};

struct NamedWork {
  std::string_view name;
  Work work;
};
constexpr auto kWork = std::to_array<NamedWork>({
    {"aten::_convolution", Work::kConvolution},
    {"aten::addmm", Work::kAddedProduct},
    {"aten::addmv", Work::kAddedProduct},
    {"aten::baddbmm", Work::kAddedProduct},
    {"aten::bmm", Work::kProduct},
    {"aten::conv1d", Work::kConvolution},
    {"aten::conv2d", Work::kConvolution},
    {"aten::conv3d", Work::kConvolution},
    {"aten::convolution", Work::kConvolution},
    {"aten::linear", Work::kProduct},
    {"aten::matmul", Work::kProduct},
    {"aten::mm", Work::kProduct},
    {"aten::mv", Work::kProduct},
    {"aten::scaled_dot_product_attention", Work::kAttention},
});
static_assert(std::is_sorted(kWork.begin(), kWork.end(),
                             [](const NamedWork& a, const NamedWork& b) {
                               return a.name < b.name;
                             }));

double product_of(std::span<const int64_t> sizes) {
  double product = 1;
  for (const int64_t size : sizes) product *= static_cast<double>(size);
  return product;
}

double last_of(const std::vector<int64_t>& sizes) {
  return sizes.empty() ? 1 : static_cast<double>(sizes.back());
}

}  // namespace

double arithmetic_of(const ir::Operator& op, ArgumentSizes arguments,
                     std::span<const IValue> results) {
  const std::string name = op.schema().name;
  const auto found =
      std::lower_bound(kWork.begin(), kWork.end(), std::string_view(name),
                       [](const NamedWork& entry, std::string_view n) { return entry.name < n; });
  if (found == kWork.end() || found->name != name) return 0;
  if (arguments.size() < 2 || results.empty() || !results[0].is_tensor()) return 0;
  const double elements = static_cast<double>(results[0].to_tensor().numel());
  switch (found->work) {
    case Work::kProduct: return 2 * elements * last_of(arguments[0]);
    case Work::kAddedProduct: return 2 * elements * last_of(arguments[1]);
    case Work::kConvolution: {
      const std::vector<int64_t>& weight = arguments[1];
      if (weight.empty() || weight[0] == 0) return 0;
      return 2 * elements * product_of(weight) / static_cast<double>(weight[0]);
    }
    case Work::kAttention: {
      const std::vector<int64_t>& key = arguments[1];
      if (key.size() < 2) return 0;
      // Scores: query elements times key rows; values: the same for the result.
      const auto rows = static_cast<double>(key[key.size() - 2]);
      return 2 * product_of(arguments[0]) * rows + 2 * elements * rows;
    }
  }
  return 0;
}

}  // namespace tierup::ops
