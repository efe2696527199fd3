#include "tierup/kernels/gemm/matmul.h"

#include "tierup/kernels/gemm/gemm.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/memory/floating_work.h"
#include "tierup/kernels/memory/memory_reuse.h"
#include "tierup/kernels/memory/same_dtype.h"
#include "tierup/kernels/pointwise/parameter_fit.h"
#include "tierup/kernels/shape/view.h"

namespace tierup::kernels {
namespace {

constexpr auto kBadShape = ErrorCode::kInvalidArgument;

void require_same_dtype(const Tensor& a, const Tensor& b) {
  require(a.dtype() == b.dtype(), kBadShape,
          "expected m1 and m2 to have the same dtype, but got: {} != {}", dtype_name(a.dtype()),
          dtype_name(b.dtype()));
}

// The last two dimensions as an operand; `storage` keeps a copy alive if one was needed.
MatrixOperand as_operand(const Tensor& tensor, Tensor& storage) {
  const int64_t rank = tensor.dim();
  const IntSpan sizes = tensor.sizes();
  const IntSpan strides = tensor.strides();
  const bool fast =
      is_fast_matrix(sizes[rank - 2], sizes[rank - 1], strides[rank - 2], strides[rank - 1]);
  storage = fast ? tensor : clone(tensor, MemoryFormat::kContiguous);
  return {storage.raw(), rank == 3 ? storage.strides()[0] : 0, storage.strides()[rank - 2],
          storage.strides()[rank - 1]};
}

// Multiplies 2-d or 3-d operands into `out`, which holds the summand where beta is not 0.
void multiply_into(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& alpha,
                   const Scalar& beta, const void* bias) {
  const int64_t rank = out.dim();
  Tensor a_storage;
  Tensor b_storage;
  GemmProblem problem;
  problem.dtype = a.dtype();
  problem.batch = rank == 3 ? out.sizes()[0] : 1;
  problem.m = out.sizes()[rank - 2];
  problem.n = out.sizes()[rank - 1];
  problem.k = a.sizes()[a.dim() - 1];
  problem.a = as_operand(a, a_storage);
  problem.b = as_operand(b, b_storage);
  problem.c = out.raw();
  problem.c_batch_stride = problem.m * problem.n;
  problem.c_row_stride = problem.n;
  problem.alpha = alpha;
  problem.beta = beta;
  problem.bias = bias;
  gemm(problem);
}

// A product of checked operands plus beta * self; in the memory of self if that is dying and as the
// result is to be.
Tensor add_product(const Tensor& self, const IntVector& sizes, const Tensor& a, const Tensor& b,
                   const Scalar& beta, const Scalar& alpha, bool is_dying = false) {
  require_dtype_of(a, {&self}, "the sum with a product");
  check_element(beta, work_type(a.dtype()));
  check_element(alpha, work_type(a.dtype()));
  Tensor out;
  if (is_dying && !self.impl()->conjugate && !self.impl()->negative)
    out = reuse_memory(self, a.dtype(), sizes, contiguous_strides(sizes));
  const bool is_reused = out.defined();
  const Tensor expanded = is_reused ? out : expand_to(self, sizes);
  if (!is_reused) out = Tensor::empty(sizes, a.dtype());
  const bool ignored = is_factor(beta, 0);
  const bool plain = is_factor(beta, 1) && is_factor(alpha, 1);
  const bool is_row = self.dim() == 1 && self.numel() == sizes.back() && self.is_contiguous();
  if (plain && is_row) {
    multiply_into(out, a, b, 1, 0, self.raw());
    return out;
  }
  if (!ignored && !is_reused) copy_into(out, expanded);
  multiply_into(out, a, b, alpha, ignored ? Scalar(0) : beta, nullptr);
  return out;
}

void require_matrices(const Tensor& a, const Tensor& b, const char* first, const char* second) {
  require(a.dim() == 2 && b.dim() == 2, kBadShape, "{} and {} must be matrices, got {}-D and {}-D",
          first, second, a.dim(), b.dim());
  require(a.sizes()[1] == b.sizes()[0], kBadShape,
          "{} and {} shapes cannot be multiplied ({}x{} and {}x{})", first, second, a.sizes()[0],
          a.sizes()[1], b.sizes()[0], b.sizes()[1]);
  require_same_dtype(a, b);
}

void require_batches(const Tensor& a, const Tensor& b) {
  if (a.dim() != 3) {
    fail(kBadShape, "batch1 must be a 3D tensor, got {}", shape_string(a.sizes()));
  }
  if (b.dim() != 3) {
    fail(kBadShape, "batch2 must be a 3D tensor, got {}", shape_string(b.sizes()));
  }
  require(
      b.sizes()[0] == a.sizes()[0] && b.sizes()[1] == a.sizes()[2], kBadShape,
      "Expected size for first two dimensions of batch2 tensor to be: [{}, {}] but got: [{}, {}].",
      a.sizes()[0], a.sizes()[2], b.sizes()[0], b.sizes()[1]);
  require_same_dtype(a, b);
}

IntVector concat(IntSpan batch, std::initializer_list<int64_t> rest) {
  IntVector sizes(batch.begin(), batch.end());
  sizes.insert(sizes.end(), rest.begin(), rest.end());
  return sizes;
}

// [*, m, k] with its batch dimensions broadcast to `batch` and merged into one.
Tensor merge_batch(const Tensor& tensor, IntSpan batch) {
  const int64_t rows = tensor.size(-2);
  const int64_t cols = tensor.size(-1);
  const int64_t count = numel_of(batch);
  const IntVector merged{count, rows, cols};
  if (tensor.dim() == 2 ||
      numel_of(tensor.sizes().first(static_cast<size_t>(tensor.dim() - 2))) == 1) {
    const int64_t row = tensor.stride(-2);
    const int64_t col = tensor.stride(-1);
    return tensor.as_view(merged, IntVector{0, row, col}, tensor.offset());
  }
  const Tensor expanded = expand_to(tensor, concat(batch, {rows, cols}));
  return reshape(expanded, merged);
}

// Both operands have at least two dimensions.
Tensor matmul_batched(const Tensor& a, const Tensor& b) {
  require(a.size(-1) == b.size(-2), kBadShape,
          "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", a.size(-2), a.size(-1),
          b.size(-2), b.size(-1));
  require_same_dtype(a, b);
  const int64_t m = a.size(-2);
  const int64_t n = b.size(-1);
  const IntSpan a_batch = a.sizes().first(static_cast<size_t>(a.dim() - 2));
  const IntSpan b_batch = b.sizes().first(static_cast<size_t>(b.dim() - 2));
  // One matrix on the right: all rows of the left side form one tall matrix, if they lie evenly.
  if (b_batch.empty()) {
    const int64_t rows = numel_of(a_batch) * m;
    Tensor out = Tensor::empty(concat(a_batch, {m, n}), a.dtype());
    const IntVector tall{rows, a.size(-1)};
    multiply_into(out.as_view(IntVector{rows, n}, IntVector{n, 1}, 0), reshape(a, tall), b, 1, 0,
                  nullptr);
    return out;
  }
  const IntVector batch = broadcast_shapes(a_batch, b_batch);
  Tensor out = Tensor::empty(concat(batch, {m, n}), a.dtype());
  const int64_t count = numel_of(batch);
  multiply_into(out.as_view(IntVector{count, m, n}, IntVector{m * n, n, 1}, 0),
                merge_batch(a, batch), merge_batch(b, batch), 1, 0, nullptr);
  return out;
}

Tensor select_batch(const Tensor& batches, int64_t index) {
  return batches.as_view(batches.sizes().subspan(1), batches.strides().subspan(1),
                         batches.offset() + index * batches.stride(0));
}

void check_linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() != 2) {
    fail(kBadShape, "linear: weight must be a vector or a matrix, got {}",
         shape_string(weight.sizes()));
  }
  require(input.dim() > 0, kBadShape, "linear: input must have at least one dimension");
  const int64_t in = input.sizes().back();
  if (in != weight.sizes()[1]) {
    const int64_t rows = numel_of(input.sizes().first(static_cast<size_t>(input.dim() - 1)));
    fail(kBadShape, "mat1 and mat2 shapes cannot be multiplied ({}x{} and {}x{})", rows, in,
         weight.sizes()[1], weight.sizes()[0]);
  }
  require(input.dtype() == weight.dtype(), kBadShape,
          "mat1 and mat2 must have the same dtype, but got {} and {}",
          scalar_type_name(input.dtype()), scalar_type_name(weight.dtype()));
  require(!bias.defined() || bias.dtype() == input.dtype(), kBadShape,
          "mat1 and bias must have the same dtype, but got {} and {}",
          scalar_type_name(input.dtype()), bias.defined() ? scalar_type_name(bias.dtype()) : "");
}

// Of dense vectors.
Tensor dot_of_long(const Tensor& x, const Tensor& y) {
  const Tensor out = Tensor::empty(IntVector{}, x.dtype());
  if (x.dtype() == ScalarType::kFloat)
    *out.data<float>() = long_dot(x.numel(), x.data<float>(), y.data<float>());
  else
    *out.data<double>() = long_dot(x.numel(), x.data<double>(), y.data<double>());
  return out;
}

Tensor drop_dim(const Tensor& tensor, int64_t dim) { return squeeze_dim(tensor, dim); }

}  // namespace

Tensor mm(const Tensor& self, const Tensor& other) {
  require_matrices(self, other, "mat1", "mat2");
  Tensor out = Tensor::empty(IntVector{self.sizes()[0], other.sizes()[1]}, self.dtype());
  multiply_into(out, self, other, 1, 0, nullptr);
  return out;
}

Tensor bmm(const Tensor& self, const Tensor& other) {
  require_batches(self, other);
  Tensor out =
      Tensor::empty(IntVector{self.sizes()[0], self.sizes()[1], other.sizes()[2]}, self.dtype());
  multiply_into(out, self, other, 1, 0, nullptr);
  return out;
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  require(self.dim() == 2 && vec.dim() == 1, kBadShape,
          "vector + matrix @ vector expected, got 1, {}, {}", self.dim(), vec.dim());
  require(self.sizes()[1] == vec.sizes()[0], kBadShape,
          "size mismatch, got input ({}), mat ({}x{}), vec ({})", self.sizes()[0], self.sizes()[0],
          self.sizes()[1], vec.sizes()[0]);
  return drop_dim(mm(self, unsqueeze(vec, 1)), 1);
}

Tensor dot(const Tensor& self, const Tensor& other) {
  require(self.dim() == 1 && other.dim() == 1, kBadShape,
          "1D tensors expected, but got {}D and {}D tensors", self.dim(), other.dim());
  require(self.dtype() == other.dtype(), kBadShape,
          "dot : expected both vectors to have same dtype, but found {} and {}",
          scalar_type_name(self.dtype()), scalar_type_name(other.dtype()));
  require(self.numel() == other.numel(), kBadShape,
          "inconsistent tensor size, expected tensor [{}] and src [{}] to have the same number of "
          "elements, but got {} and {} elements respectively",
          self.numel(), other.numel(), self.numel(), other.numel());
  // Shorter ones are made in groups too (ops::kMaxFusedDot), in the order of the depth.
  constexpr int64_t kInGroups = 512;
  const ScalarType type = self.dtype();
  if (self.numel() > kInGroups && (type == ScalarType::kFloat || type == ScalarType::kDouble))
    return dot_of_long(contiguous(self), contiguous(other));
  const Tensor product = mm(unsqueeze(self, 0), unsqueeze(other, 1));
  return product.as_view({}, {}, product.offset());
}

Tensor vdot(const Tensor& self, const Tensor& other) {
  if (!is_complex(self.dtype())) return dot(self, other);
  Tensor conjugated = self.detach();
  conjugated.impl()->conjugate = !conjugated.impl()->conjugate;
  return dot(resolve_lazy_bits(conjugated), other);
}

Tensor matmul(const Tensor& self, const Tensor& other) {
  require(self.dim() > 0 && other.dim() > 0, kBadShape,
          "both arguments to matmul need to be at least 1D, but they are {}D and {}D", self.dim(),
          other.dim());
  if (self.dim() == 1 && other.dim() == 1) return dot(self, other);
  if (self.dim() == 2 && other.dim() == 2) return mm(self, other);
  if (self.dim() == 2 && other.dim() == 1) return mv(self, other);
  if (self.dim() == 1) return drop_dim(matmul_batched(unsqueeze(self, 0), other), -2);
  if (other.dim() == 1) return drop_dim(matmul_batched(self, unsqueeze(other, 1)), -1);
  return matmul_batched(self, other);
}

Tensor linear(const Tensor& input, const Tensor& weight, const Tensor& bias) {
  if (weight.dim() == 1) {
    require(!bias.defined(), kBadShape, "linear: a bias needs a weight with two dimensions");
    return matmul(input, weight);
  }
  check_linear(input, weight, bias);
  const int64_t in = weight.sizes()[1];
  const int64_t out_features = weight.sizes()[0];
  IntVector sizes(input.sizes().begin(), input.sizes().end());
  sizes.pop_back();
  const int64_t rows = numel_of(sizes);
  sizes.push_back(out_features);
  const Tensor out = Tensor::empty(sizes, input.dtype());
  const bool is_row =
      bias.defined() && bias.dim() == 1 && bias.numel() == out_features && bias.is_contiguous();
  const Tensor flat = input.is_contiguous() ? input : reshape(input, IntVector{rows, in});
  const bool is_dense = flat.is_contiguous() && weight.is_contiguous();
  GemmProblem problem;
  problem.dtype = input.dtype();
  problem.m = rows;
  problem.n = out_features;
  problem.k = in;
  problem.c = out.raw();
  problem.c_row_stride = out_features;
  if (is_row) problem.bias = bias.raw();
  if (bias.defined() && !is_row) {
    copy_into(input.dim() == 1 ? unsqueeze(out, 0) : out, bias);
    problem.beta = 1;
  }
  if (is_dense) {
    problem.a = {flat.raw(), 0, in, 1};
    problem.b = {weight.raw(), 0, 1, in};
    gemm(problem);
    return out;
  }
  Tensor flat_storage;
  Tensor weight_storage;
  problem.a = as_operand(flat.dim() == 2 ? flat : reshape(flat, IntVector{rows, in}), flat_storage);
  problem.b = as_operand(transpose(weight, 0, 1), weight_storage);
  gemm(problem);
  return out;
}

Tensor addmm(const Tensor& self, const Tensor& mat1, const Tensor& mat2, const Scalar& beta,
             const Scalar& alpha) {
  require_matrices(mat1, mat2, "mat1", "mat2");
  return add_product(self, {mat1.sizes()[0], mat2.sizes()[1]}, mat1, mat2, beta, alpha);
}

Tensor addmm_to_dying(const Tensor& self, const Tensor& mat1, const Tensor& mat2,
                      const Scalar& beta, const Scalar& alpha) {
  require_matrices(mat1, mat2, "mat1", "mat2");
  return add_product(self, {mat1.sizes()[0], mat2.sizes()[1]}, mat1, mat2, beta, alpha, true);
}

Tensor baddbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
               const Scalar& alpha) {
  require_batches(batch1, batch2);
  return add_product(self, {batch1.sizes()[0], batch1.sizes()[1], batch2.sizes()[2]}, batch1,
                     batch2, beta, alpha);
}

Tensor addbmm(const Tensor& self, const Tensor& batch1, const Tensor& batch2, const Scalar& beta,
              const Scalar& alpha) {
  require_batches(batch1, batch2);
  const int64_t batches = batch1.sizes()[0];
  const int64_t m = batch1.sizes()[1];
  const int64_t k = batch1.sizes()[2];
  const int64_t n = batch2.sizes()[2];
  if (batch1.item_size() == 2 && batches > 0) {
    // PyTorch rounds halves after each matrix of the batch.
    Tensor sum =
        add_product(self, {m, n}, select_batch(batch1, 0), select_batch(batch2, 0), beta, alpha);
    for (int64_t i = 1; i < batches; ++i) {
      sum = add_product(sum, {m, n}, select_batch(batch1, i), select_batch(batch2, i), 1, alpha);
    }
    return sum;
  }
  // Summing over the batch is one product of [m, batch * k] and [batch * k, n].
  const Tensor wide = reshape(transpose(batch1, 0, 1), IntVector{m, batches * k});
  const Tensor tall = reshape(batch2, IntVector{batches * k, n});
  return add_product(self, {m, n}, wide, tall, beta, alpha);
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  require(mat.dim() == 2 && vec.dim() == 1 && self.dim() <= 1, kBadShape,
          "vector + matrix @ vector expected, got {}, {}, {}", self.dim(), mat.dim(), vec.dim());
  require(mat.sizes()[1] == vec.sizes()[0], kBadShape,
          "size mismatch, got input ({}), mat ({}x{}), vec ({})", self.numel(), mat.sizes()[0],
          mat.sizes()[1], vec.sizes()[0]);
  const Tensor column = self.dim() == 0 ? self : unsqueeze(self, 1);
  require_same_dtype(mat, vec);
  return drop_dim(add_product(column, {mat.sizes()[0], 1}, mat, unsqueeze(vec, 1), beta, alpha), 1);
}

}  // namespace tierup::kernels
