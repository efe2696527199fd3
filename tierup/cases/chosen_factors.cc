// Factorisations: signs, phases and bases of equal values are LAPACK's choice. What must hold of
// any right answer is checked in double precision, matrix by matrix: products give the input back,
// columns are orthonormal, triangles are triangles, and values are the expected ones.
#include <fmt/format.h>

#include <algorithm>
#include <complex>
#include <vector>

#include "tierup/cases/chosen_results.h"
#include "tierup/kernels/memory/copy.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup::api {
namespace {

struct Matrix {
  Matrix(int64_t r, int64_t c) : rows(r), columns(c), at(static_cast<size_t>(r * c)) {}
  int64_t rows;
  int64_t columns;
  std::vector<complex128> at;

  complex128& operator()(int64_t r, int64_t c) { return at[static_cast<size_t>(r * columns + c)]; }
  const complex128& operator()(int64_t r, int64_t c) const {
    return at[static_cast<size_t>(r * columns + c)];
  }
};

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix result(a.rows, b.columns);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t k = 0; k < a.columns; ++k) {
      for (int64_t c = 0; c < b.columns; ++c) result(r, c) += a(r, k) * b(k, c);
    }
  }
  return result;
}

Matrix adjoint(const Matrix& a) {
  Matrix result(a.columns, a.rows);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < a.columns; ++c) result(c, r) = std::conj(a(r, c));
  }
  return result;
}

Matrix identity(int64_t size) {
  Matrix result(size, size);
  for (int64_t i = 0; i < size; ++i) result(i, i) = 1;
  return result;
}

// `values` on the diagonal, zeros elsewhere.
Matrix diagonal(const Matrix& values, int64_t rows, int64_t columns) {
  Matrix result(rows, columns);
  for (int64_t i = 0; i < values.columns; ++i) result(i, i) = values(0, i);
  return result;
}

// The matrix that a triangle of a Hermitian one stands for.
Matrix from_triangle(const Matrix& a, bool is_lower) {
  Matrix result = a;
  for (int64_t r = 0; r < a.rows; ++r) {
    result(r, r) = a(r, r).real();
    for (int64_t c = r + 1; c < a.columns; ++c) {
      if (is_lower) {
        result(r, c) = std::conj(a(c, r));
      } else {
        result(c, r) = std::conj(a(r, c));
      }
    }
  }
  return result;
}

// A tensor as a batch of matrices; with `row_of`, each last dimension is a matrix of one row.
std::vector<Matrix> matrices(const IValue& value, bool is_vector = false) {
  const Tensor wide =
      kernels::contiguous(kernels::to_dtype(value.to_tensor(), ScalarType::kComplexDouble));
  const IntSpan sizes = wide.sizes();
  const int64_t columns = sizes.back();
  const int64_t rows = is_vector ? 1 : sizes[sizes.size() - 2];
  const size_t before = sizes.size() - (is_vector ? 1 : 2);
  int64_t count = 1;
  for (size_t d = 0; d < before; ++d) count *= sizes[d];
  std::vector<Matrix> result;
  const auto* elements = wide.data<complex128>();
  for (int64_t i = 0; i < count; ++i) {
    result.emplace_back(rows, columns);
    std::copy_n(elements + i * rows * columns, rows * columns, result.back().at.begin());
  }
  return result;
}

// Empty if `found` is `wanted` within the tolerance of the input's dtype, relative to the largest
// element of `wanted`.
std::string far_from(const ChosenCall& call, const char* what, const Matrix& found,
                     const Matrix& wanted) {
  const Tolerance tolerance = call.options.tolerances.of(call.args[0].to_tensor().dtype());
  Deviation deviation;
  for (size_t i = 0; i < wanted.at.size(); ++i) deviation.note(found.at[i], wanted.at[i]);
  const double bound = tolerance.atol + tolerance.rtol * deviation.largest_value;
  if (deviation.max_absolute <= bound) return {};
  return fmt::format("{} is off by {:.3g}; {:.3g} is allowed", what, deviation.max_absolute, bound);
}

// The shapes and dtypes of all results; values of those named.
std::string unique_parts(const ChosenCall& call, std::initializer_list<size_t> unique) {
  for (size_t i = 0; i < call.results.size(); ++i) {
    const Tensor found = call.results[i].to_tensor();
    const Tensor wanted = call.expected[i].to_tensor();
    if (found.dtype() != wanted.dtype() || !std::ranges::equal(found.sizes(), wanted.sizes()))
      return fmt::format("result {} is {} instead of {}", i, found.describe(), wanted.describe());
  }
  for (const size_t i : unique) {
    std::string difference = find_difference(call.results[i], call.expected[i], call.options);
    if (!difference.empty()) return fmt::format("result {}: {}", i, difference);
  }
  return {};
}

bool is_empty(const IValue& value) { return value.to_tensor().numel() == 0; }

std::string all_unique(const ChosenCall& call) {
  for (size_t i = 0; i < call.results.size(); ++i) {
    std::string difference = find_difference(call.results[i], call.expected[i], call.options);
    if (!difference.empty()) return fmt::format("result {}: {}", i, difference);
  }
  return {};
}

std::string orthonormal_columns(const ChosenCall& call, const char* what, const Matrix& q) {
  return far_from(call, what, product(adjoint(q), q), identity(q.columns));
}

std::string below_diagonal(const ChosenCall& call, const Matrix& r) {
  Matrix upper = r;
  for (int64_t i = 0; i < r.rows; ++i) {
    for (int64_t j = 0; j < std::min(i, r.columns); ++j) upper(i, j) = 0;
  }
  return far_from(call, "R below its diagonal", r, upper);
}

std::string first_of(std::initializer_list<std::string> differences) {
  for (const std::string& difference : differences) {
    if (!difference.empty()) return difference;
  }
  return {};
}

// (Q, R); with the mode "r" Q is empty, and R^H R is the input's.
std::string qr(const ChosenCall& call) {
  std::string difference = unique_parts(call, {});
  if (!difference.empty() || is_empty(call.args[0]) || is_empty(call.results[1])) return difference;
  const std::vector<Matrix> a = matrices(call.args[0]);
  const std::vector<Matrix> r = matrices(call.results[1]);
  const bool has_q = !is_empty(call.results[0]);
  const std::vector<Matrix> q = has_q ? matrices(call.results[0]) : std::vector<Matrix>();
  for (size_t i = 0; i < a.size() && difference.empty(); ++i) {
    difference = below_diagonal(call, r[i]);
    if (!difference.empty()) continue;
    difference =
        has_q ? first_of({far_from(call, "Q R", product(q[i], r[i]), a[i]),
                          orthonormal_columns(call, "Q^H Q", q[i])})
              : far_from(call, "R^H R", product(adjoint(r[i]), r[i]), product(adjoint(a[i]), a[i]));
  }
  return difference;
}

// The first columns of a matrix.
Matrix columns_of(const Matrix& a, int64_t count) {
  Matrix result(a.rows, count);
  for (int64_t r = 0; r < a.rows; ++r) {
    for (int64_t c = 0; c < count; ++c) result(r, c) = a(r, c);
  }
  return result;
}

// (U, S, V) or (U, S, V^H), where only S is asked for with empty ones or zeros beside it.
std::string svd(const ChosenCall& call, bool gives_adjoint) {
  std::string difference = unique_parts(call, {1});
  const IValue wants_vectors = call.argument("compute_uv");
  if (wants_vectors.is_bool() && !wants_vectors.to_bool())
    return first_of({difference, unique_parts(call, {0, 1, 2})});
  if (!difference.empty() || is_empty(call.args[0])) return difference;
  const std::vector<Matrix> a = matrices(call.args[0]);
  const std::vector<Matrix> u = matrices(call.results[0]);
  const std::vector<Matrix> s = matrices(call.results[1], true);
  const std::vector<Matrix> given = matrices(call.results[2]);
  for (size_t i = 0; i < a.size() && difference.empty(); ++i) {
    const Matrix v = gives_adjoint ? adjoint(given[i]) : given[i];
    const int64_t count = s[i].columns;
    const Matrix scaled = product(columns_of(u[i], count), diagonal(s[i], count, count));
    difference =
        first_of({orthonormal_columns(call, "U^H U", u[i]), orthonormal_columns(call, "V^H V", v),
                  far_from(call, "U S V^H", product(scaled, adjoint(columns_of(v, count))), a[i])});
  }
  return difference;
}

// (values, vectors) of the Hermitian matrix of which one triangle is read.
std::string eigh(const ChosenCall& call) {
  std::string difference = unique_parts(call, {0});
  if (!difference.empty() || is_empty(call.results[1])) return difference;
  const IValue triangle = call.argument("UPLO");
  const bool is_lower = !triangle.is_str() || triangle.to_str() == "L" || triangle.to_str() == "l";
  const std::vector<Matrix> a = matrices(call.args[0]);
  const std::vector<Matrix> w = matrices(call.results[0], true);
  const std::vector<Matrix> v = matrices(call.results[1]);
  for (size_t i = 0; i < a.size() && difference.empty(); ++i) {
    const Matrix scaled = product(v[i], diagonal(w[i], w[i].columns, w[i].columns));
    difference =
        first_of({orthonormal_columns(call, "V^H V", v[i]),
                  far_from(call, "A V", product(from_triangle(a[i], is_lower), v[i]), scaled)});
  }
  return difference;
}

// Eigenvalues in any order: each expected one takes the nearest that is left.
std::string same_set(const ChosenCall& call, const Matrix& found, const Matrix& expected) {
  Matrix ordered = expected;
  std::vector<complex128> left = found.at;
  for (complex128& value : ordered.at) {
    const auto nearest = std::ranges::min_element(
        left, {}, [&](const complex128& other) { return distance_of(other, value); });
    value = *nearest;
    left.erase(nearest);
  }
  return far_from(call, "an eigenvalue", ordered, expected);
}

std::string eigenvalues(const ChosenCall& call) {
  std::string difference = unique_parts(call, {});
  if (!difference.empty() || is_empty(call.results[0])) return difference;
  const std::vector<Matrix> found = matrices(call.results[0], true);
  const std::vector<Matrix> expected = matrices(call.expected[0], true);
  for (size_t i = 0; i < found.size() && difference.empty(); ++i)
    difference = same_set(call, found[i], expected[i]);
  return difference;
}

// (values, vectors) of any matrix; vectors have length 1.
std::string eig(const ChosenCall& call) {
  std::string difference = eigenvalues(call);
  if (!difference.empty() || is_empty(call.results[1])) return difference;
  const std::vector<Matrix> a = matrices(call.args[0]);
  const std::vector<Matrix> w = matrices(call.results[0], true);
  const std::vector<Matrix> v = matrices(call.results[1]);
  for (size_t i = 0; i < a.size() && difference.empty(); ++i) {
    const Matrix scaled = product(v[i], diagonal(w[i], w[i].columns, w[i].columns));
    const Matrix overlaps = product(adjoint(v[i]), v[i]);
    Matrix lengths(1, overlaps.columns);
    Matrix ones(1, overlaps.columns);
    for (int64_t c = 0; c < overlaps.columns; ++c) {
      lengths(0, c) = overlaps(c, c);
      ones(0, c) = 1;
    }
    difference = first_of({far_from(call, "A V", product(a[i], v[i]), scaled),
                           far_from(call, "a vector's length", lengths, ones)});
  }
  return difference;
}

}  // namespace

ChoiceRule factor_rule(std::string_view name) {
  if (name == "aten::linalg_qr" || name == "aten::qr") return qr;
  if (name == "aten::svd") return [](const ChosenCall& call) { return svd(call, false); };
  if (name == "aten::linalg_svd" || name == "aten::_linalg_svd")
    return [](const ChosenCall& call) { return svd(call, true); };
  if (name == "aten::linalg_eigh" || name == "aten::_linalg_eigh") return eigh;
  if (name == "aten::linalg_eig") return eig;
  if (name == "aten::linalg_eigvals") return eigenvalues;
  for (const char* each :
       {"aten::geqrf", "aten::linalg_svdvals", "aten::linalg_eigvalsh", "aten::linalg_ldl_factor",
        "aten::linalg_ldl_factor_ex", "aten::linalg_ldl_solve"}) {
    if (name == each) return all_unique;
  }
  return nullptr;
}

}  // namespace tierup::api
