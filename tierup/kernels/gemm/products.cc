#include "tierup/kernels/gemm/products.h"

#include <algorithm>

#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/gemm/matmul.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/memory/strided_loop.h"
#include "tierup/kernels/memory/type_promotion.h"
#include "tierup/kernels/pointwise/parameter_fit.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBadShape = ErrorCode::kInvalidArgument;

template <typename T>
struct ComputeOf {
  using Type = T;
};
template <>
struct ComputeOf<Half> {
  using Type = float;
};
template <>
struct ComputeOf<BFloat16> {
  using Type = float;
};

// The order of a matrix chain with the fewest multiplications, by dynamic programming over
// sizes[i] x sizes[i + 1]; split[i][j] is where the product of i..j divides.
std::vector<std::vector<size_t>> chain_splits(const std::vector<int64_t>& sizes) {
  const size_t count = sizes.size() - 1;
  std::vector<std::vector<double>> cost(count, std::vector<double>(count, 0));
  std::vector<std::vector<size_t>> split(count, std::vector<size_t>(count, 0));
  for (size_t length = 2; length <= count; ++length) {
    for (size_t i = 0; i + length <= count; ++i) {
      const size_t j = i + length - 1;
      cost[i][j] = -1;
      for (size_t k = i; k < j; ++k) {
        const double step = static_cast<double>(sizes[i]) * static_cast<double>(sizes[k + 1]) *
                            static_cast<double>(sizes[j + 1]);
        const double total = cost[i][k] + cost[k + 1][j] + step;
        if (cost[i][j] < 0 || total < cost[i][j]) {
          cost[i][j] = total;
          split[i][j] = k;
        }
      }
    }
  }
  return split;
}

Tensor multiply_chain(const std::vector<Tensor>& matrices,
                      const std::vector<std::vector<size_t>>& split, size_t first, size_t last) {
  if (first == last) return matrices[first];
  const size_t middle = split[first][last];
  return mm(multiply_chain(matrices, split, first, middle),
            multiply_chain(matrices, split, middle + 1, last));
}

Tensor chain_product(const std::vector<Tensor>& matrices) {
  std::vector<int64_t> sizes{matrices[0].size(0)};
  for (const Tensor& matrix : matrices) sizes.push_back(matrix.size(1));
  return multiply_chain(matrices, chain_splits(sizes), 0, matrices.size() - 1);
}

}  // namespace

Tensor multiply_broadcast(const Tensor& a, const Tensor& b) {
  const Tensor out = Tensor::empty(broadcast_shapes(a.sizes(), b.sizes()), result_type(a, b));
  pointwise_into(out, {Body::kMul}, {a, b});
  return out;
}

Tensor sum_keeping(const Tensor& tensor, const IntVector& dims) {
  if (dims.empty()) return tensor;
  IntVector order;
  IntVector kept_sizes(tensor.sizes().begin(), tensor.sizes().end());
  int64_t reduced = 1;
  for (int64_t d = 0; d < tensor.dim(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) order.push_back(d);
  }
  for (const int64_t d : dims) {
    order.push_back(d);
    kept_sizes[static_cast<size_t>(d)] = 1;
    reduced *= tensor.size(d);
  }
  const Tensor rows = reshape(permute(tensor, order), IntVector{numel_of(kept_sizes), reduced});
  const Tensor ones = Tensor::empty(IntVector{reduced, 1}, tensor.dtype());
  fill(ones, 1);
  return reshape(mm(rows, ones), kept_sizes);
}

Tensor outer(const Tensor& self, const Tensor& vec2) {
  require(self.dim() == 1 && vec2.dim() == 1, kBadShape,
          "outer: Expected 1-D arguments, but got {}-D and {}-D", self.dim(), vec2.dim());
  return multiply_broadcast(unsqueeze(self, 1), vec2);
}

namespace {

void check_factor(const Scalar& factor, ScalarType type, const char* name) {
  require(type == ScalarType::kBool || !factor.is_bool(), ErrorCode::kInvalidArgument,
          "Boolean {} only supported for Boolean results.", name);
  require(!is_integral(type, true) || factor.is_integral(true), ErrorCode::kInvalidArgument,
          "For integral input tensors, argument {} must not be a floating point number.", name);
  check_element(factor, type);
}

}  // namespace

Tensor addr(const Tensor& self, const Tensor& vec1, const Tensor& vec2, const Scalar& beta,
            const Scalar& alpha) {
  require(vec1.dim() == 1 && vec2.dim() == 1, kBadShape,
          "addr: Expected 1-D arguments, but got {}-D and {}-D", vec1.dim(), vec2.dim());
  const IntVector sizes{vec1.size(0), vec2.size(0)};
  const Tensor expanded = expand_to(self, sizes);
  const ScalarType type = result_type(expanded, vec1, vec2);
  check_factor(beta, type, "beta");
  check_factor(alpha, type, "alpha");
  const Tensor out = Tensor::empty(sizes, type);
  const Tensor summand = to_dtype(expanded, type);
  const Tensor column = to_dtype(unsqueeze(vec1, 1), type);
  const Tensor row = to_dtype(vec2, type);
  const bool adds = is_factor(beta, 1) && is_factor(alpha, 1);
  if (adds && (type == ScalarType::kFloat || type == ScalarType::kDouble)) {
    pointwise_into(out, {Body::kAddcmul}, {summand, column, row, Operand(Scalar(1.0))});
    return out;
  }
  dispatch_all(type, "addr", [&]<typename Tag>(Tag) {
    using T = typename Tag::type;
    using C = typename ComputeOf<T>::Type;
    // Narrow types round at every step, factors included.
    const auto rounded = [](C value) { return static_cast<C>(static_cast<T>(value)); };
    const C b = rounded(beta.to<C>());
    const C a = rounded(alpha.to<C>());
    if constexpr (std::is_same_v<T, bool>) {
      map_elements<T, T, T, T>(
          out, [=](T s, T x, T y) { return (b && s) || (a && x && y); }, summand, column, row);
    } else {
      const bool read = b != C(0);
      map_elements<T, T, T, T>(
          out,
          [=](T s, T x, T y) {
            const C product = rounded(rounded(a * static_cast<C>(x)) * static_cast<C>(y));
            return static_cast<T>(read ? rounded(b * static_cast<C>(s)) + product : product);
          },
          summand, column, row);
    }
  });
  return out;
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return multiply_broadcast(self, other);
  if (self.size(-1) != other.size(-1)) {
    fail(kBadShape,
         "inner() the last dimension must match on both input tensors but got shapes {} and {}",
         shape_string(self.sizes()), shape_string(other.sizes()));
  }
  return tensordot(self, other, {-1}, {-1});
}

Tensor vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  require_dtype_of(x, {&y}, "linalg.vecdot");
  Tensor left = x;
  if (is_complex(x.dtype())) {
    left = x.detach();
    left.impl()->conjugate = !left.impl()->conjugate;
    left = resolve_lazy_bits(left);
  }
  const IntVector sizes = broadcast_shapes(x.sizes(), y.sizes());
  const bool are_vectors = x.dim() == 1 && y.dim() == 1;  // PyTorch asks for no axis then.
  const int64_t axis = are_vectors ? 0 : wrap_dim(dim, static_cast<int64_t>(sizes.size()));
  const Tensor a = movedim_int(expand_to(left, sizes), axis, -1);
  const Tensor b = movedim_int(expand_to(y, sizes), axis, -1);
  const Tensor product = matmul(unsqueeze(a, -2), unsqueeze(b, -1));
  return squeeze_dim(squeeze_dim(product, -1), -1);
}

Tensor kron(const Tensor& self, const Tensor& other) {
  const int64_t rank = std::max(self.dim(), other.dim());
  IntVector a_sizes;
  IntVector b_sizes;
  IntVector sizes;
  for (int64_t d = 0; d < rank; ++d) {
    const int64_t from_a = d - (rank - self.dim());
    const int64_t from_b = d - (rank - other.dim());
    const int64_t a = from_a < 0 ? 1 : self.size(from_a);
    const int64_t b = from_b < 0 ? 1 : other.size(from_b);
    a_sizes.insert(a_sizes.end(), {a, 1});
    b_sizes.insert(b_sizes.end(), {1, b});
    sizes.push_back(a * b);
  }
  return reshape(multiply_broadcast(reshape(self, a_sizes), reshape(other, b_sizes)), sizes);
}

Tensor tensordot(const Tensor& self, const Tensor& other, const IntVector& dims_self,
                 const IntVector& dims_other) {
  require(dims_self.size() == dims_other.size(), kBadShape,
          "both dimension lists should have same length");
  require(self.dtype() == other.dtype(), kBadShape, "both inputs should have same dtype");
  std::vector<bool> used_self(static_cast<size_t>(self.dim()), false);
  std::vector<bool> used_other(static_cast<size_t>(other.dim()), false);
  IntVector left = {};
  IntVector right = {};
  Tensor a = self;
  Tensor b = other;
  int64_t depth = 1;
  for (size_t i = 0; i < dims_self.size(); ++i) {
    require(self.dim() > 0 && other.dim() > 0, ErrorCode::kOutOfRange,
            "Dimension specified as {} but tensor has no dimensions",
            self.dim() > 0 ? dims_other[i] : dims_self[i]);
    const int64_t s = wrap_dim(dims_self[i], self.dim());
    const int64_t o = wrap_dim(dims_other[i], other.dim());
    left.push_back(s);
    right.push_back(o);
    used_self[static_cast<size_t>(s)] = true;
    used_other[static_cast<size_t>(o)] = true;
    // A dimension of size 1 on one side is broadcast: the other side is summed along it.
    if (a.size(s) == 1 && b.size(o) != 1) {
      b = sum_keeping(b, {o});
    } else if (b.size(o) == 1 && a.size(s) != 1) {
      a = sum_keeping(a, {s});
    }
    require(
        a.size(s) == b.size(o), kBadShape,
        "contracted dimensions need to match, but first has size {} in dim {} and second has size "
        "{} in dim {}",
        a.size(s), dims_self[i], b.size(o), dims_other[i]);
    depth *= a.size(s);
  }
  IntVector a_order;
  IntVector sizes;
  for (int64_t d = 0; d < a.dim(); ++d) {
    if (used_self[static_cast<size_t>(d)]) continue;
    a_order.push_back(d);
    sizes.push_back(a.size(d));
  }
  const int64_t rows = numel_of(sizes);
  a_order.insert(a_order.end(), left.begin(), left.end());
  IntVector b_order = right;
  int64_t cols = 1;
  for (int64_t d = 0; d < b.dim(); ++d) {
    if (used_other[static_cast<size_t>(d)]) continue;
    b_order.push_back(d);
    sizes.push_back(b.size(d));
    cols *= b.size(d);
  }
  const Tensor product = mm(reshape(permute(a, a_order), IntVector{rows, depth}),
                            reshape(permute(b, b_order), IntVector{depth, cols}));
  return reshape(product, sizes);
}

Tensor chain_matmul(const std::vector<Tensor>& matrices) {
  require(!matrices.empty(), kBadShape, "chain_matmul(): Expected one or more matrices");
  for (const Tensor& matrix : matrices) {
    require(matrix.dim() == 2, kBadShape, "Tensor dimension is {}, expected 2 instead.",
            matrix.dim());
  }
  if (matrices.size() == 1) return matrices[0];
  return chain_product(matrices);
}

Tensor multi_dot(const std::vector<Tensor>& tensors) {
  require(tensors.size() >= 2, kBadShape, "multi_dot(): expected at least 2 tensors but got {}",
          tensors.size());
  std::vector<Tensor> matrices = tensors;
  const Tensor& front = tensors.front();
  const Tensor& back = tensors.back();
  require(front.dim() >= 1 && front.dim() <= 2 && back.dim() >= 1 && back.dim() <= 2, kBadShape,
          "multi_dot(): the first and last tensors must be 1D or 2D");
  for (size_t i = 1; i + 1 < tensors.size(); ++i) {
    require(tensors[i].dim() == 2, kBadShape, "multi_dot(): tensor {} must be 2D but got {}D", i,
            tensors[i].dim());
  }
  if (front.dim() == 1) matrices.front() = unsqueeze(front, 0);
  if (back.dim() == 1) matrices.back() = unsqueeze(back, 1);
  Tensor product = chain_product(matrices);
  if (back.dim() == 1) product = squeeze_dim(product, 1);
  if (front.dim() == 1) product = squeeze_dim(product, 0);
  return product;
}

Tensor trilinear(const Tensor& i1, const Tensor& i2, const Tensor& i3, const IntVector& expand1,
                 const IntVector& expand2, const IntVector& expand3, const IntVector& sumdim,
                 int64_t unroll_dim) {
  const int64_t rank = i1.dim() + static_cast<int64_t>(expand1.size());
  require(unroll_dim >= 0 && unroll_dim < rank, kBadShape, "unroll_dim must be in [0,{}]",
          rank - 1);
  const auto widened = [](Tensor tensor, IntVector dims) {
    std::sort(dims.begin(), dims.end());
    for (const int64_t d : dims) tensor = unsqueeze(tensor, d);
    return tensor;
  };
  const Tensor product = multiply_broadcast(
      multiply_broadcast(widened(i1, expand1), widened(i2, expand2)), widened(i3, expand3));
  IntVector dims = sumdim;
  for (int64_t& d : dims) d = wrap_dim(d, rank);
  std::sort(dims.begin(), dims.end());
  Tensor sum = sum_keeping(product, dims);
  for (size_t i = dims.size(); i-- > 0;) sum = squeeze_dim(sum, dims[i]);
  return sum;
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight,
                const Tensor& bias) {
  require(input1.dim() == input2.dim(), kBadShape,
          "bilinear(): input dimensions do not match: got {} and {}", input1.dim(), input2.dim());
  if (!(weight.dim() == 3 && input1.dim() >= 1 && input1.size(-1) == weight.size(1) &&
        input2.size(-1) == weight.size(2))) {
    fail(kBadShape, "bilinear(): input1 size {}, input2 size {} do not fit weight {}",
         shape_string(input1.sizes()), shape_string(input2.sizes()), shape_string(weight.sizes()));
  }
  IntVector sizes(input1.sizes().begin(), input1.sizes().end());
  const int64_t rows = numel_of(input1.sizes().first(sizes.size() - 1));
  sizes.back() = weight.size(0);
  const Tensor x1 = reshape(input1, IntVector{rows, 1, 1, weight.size(1)});
  const Tensor x2 = reshape(input2, IntVector{rows, 1, weight.size(2), 1});
  // [rows, out, 1, in2] times [rows, 1, in2, 1].
  const Tensor left = matmul(x1, weight);
  Tensor out = reshape(matmul(left, x2), sizes);
  if (!bias.defined()) return out;
  if (!(bias.dim() == 1 && bias.size(0) == weight.size(0))) {
    fail(kBadShape, "bilinear(): bias size {} does not fit weight {}", shape_string(bias.sizes()),
         shape_string(weight.sizes()));
  }
  const Tensor one = Tensor::empty(IntVector{rows, 1}, out.dtype());
  fill(one, 1);
  const Tensor flat = reshape(out, IntVector{rows, weight.size(0)});
  return reshape(addmm(flat, one, unsqueeze(bias, 0), 1, 1), sizes);
}

}  // namespace tierup::kernels
