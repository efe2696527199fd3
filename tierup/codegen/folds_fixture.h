// For tests of groups that fold: numbers, and a comparison with tier 0 that lets sums differ in
// their order.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tierup/base/parallel.h"
#include "tierup/codegen/group_fixture.h"
#include "tierup/kernels/shape/conversion.h"

namespace tierup::codegen {

inline Tensor numbers(const IntVector& sizes, ScalarType type = ScalarType::kFloat) {
  Tensor x = Tensor::empty(sizes, ScalarType::kDouble);
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double value = 1.0 / static_cast<double>(1 + i * 37 % 101) - 0.3;
    x.data<double>()[i] = type == ScalarType::kLong ? std::round(100 * value) : value;
  }
  return kernels::convert_to(x, {type, {}, {}, false});
}

// Sums in another order than tier 0's, of terms of about one or less.
inline void expect_near(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes())) << what;
  EXPECT_TRUE(std::ranges::equal(a.strides(), b.strides())) << what;
  const Tensor x = kernels::convert_to(a, {ScalarType::kDouble, {}, {}, false});
  const Tensor y = kernels::convert_to(b, {ScalarType::kDouble, {}, {}, false});
  const double bound = a.dtype() == ScalarType::kFloat ? 2e-5 : 1e-13;
  for (int64_t i = 0; i < x.numel(); ++i) {
    const double p = x.data<double>()[i];
    const double q = y.data<double>()[i];
    if ((std::isnan(p) && std::isnan(q)) || p == q) continue;
    ASSERT_LE(std::abs(p - q), bound * (1 + std::abs(q))) << what << " at " << i;
  }
}

inline void expect_tier_0(const ops::FusionGroup& group, const std::vector<Tensor>& inputs,
                          const std::string& what, By by = By::kKernel) {
  const uint64_t before = group.compiled_runs();
  const auto fused = run_group(group, inputs);
  EXPECT_EQ(group.compiled_runs(), before + (by == By::kKernel ? 1 : 0)) << what;
  const ThreadCountScope one_thread(1);
  const auto alone = run_group(group, inputs);
  const auto plain = run_group(group, inputs, true);
  for (size_t i = 0; i < plain.size(); ++i) {
    expect_near(fused[i], plain[i], what);
    expect_same(fused[i], alone[i], what + ", in one thread");
  }
}

// A row member over the dimensions `dims`, which count from the last one.
inline ops::GroupMember fold_of(const char* op, ops::GroupArgument value, const IntVector& dims,
                                ops::RowSpace space) {
  const IValue list(make_int_list(dims));
  const bool keepdim = space == ops::RowSpace::kPart;
  ops::GroupMember made = call(op, {std::move(value)});
  const auto& schema = made.op->schema().arguments;
  for (size_t i = 1; i < schema.size(); ++i) {
    const bool is_dims = schema[i].name == "dim";
    const bool is_one_dim = is_dims && space == ops::RowSpace::kFull;
    made.arguments.push_back(is_one_dim                     ? constant(IValue(dims[0]))
                             : is_dims                      ? constant(list)
                             : schema[i].name == "keepdim"  ? constant(keepdim)
                             : schema[i].name == "unbiased" ? constant(true)
                             : schema[i].name == "ord"      ? constant(int64_t{2})
                                                            : constant({}));
  }
  made.by_rows = true;
  made.folded = static_cast<uint32_t>(dims.size());
  made.space = space;
  return made;
}

// With kernels of vectors of at most so many bits; 0: of this machine's.
inline Ref<ops::FusionGroup> compiled(Ref<ops::FusionGroup> group, int bits) {
  CompileOptions options = process_options();
  if (bits > 0) options.max_vector_bits = bits;
  compile(group, Library::instance(), options);
  EXPECT_GT(group->kernel_count(), 0U) << group->refusal().text();
  return group;
}

// Compiled for inputs like these, of which the widest has the whole space.
inline Ref<ops::FusionGroup> fold_group(ops::GroupProgram program,
                                        const std::vector<Tensor>& inputs, int bits = 0) {
  uint32_t folded = 0;
  for (const ops::GroupMember& member : program.members) folded = std::max(folded, member.folded);
  const size_t rows = program.row_rank;
  auto group = make_ref<ops::FusionGroup>(std::move(program));
  const bool is_wide = std::ranges::any_of(
      inputs, [](const Tensor& x) { return !x.sizes().empty() && x.sizes().back() > 1; });
  std::vector<ops::ValueForm> forms;
  std::vector<bool> uniform;
  std::vector<bool> still;
  for (const Tensor& tensor : inputs) {
    const IntSpan sizes = tensor.sizes();
    forms.push_back(ops::form_of(*tensor.impl()));
    uniform.push_back(is_wide && (sizes.empty() || sizes.back() == 1));
    bool is_still = true;
    for (size_t back = rows; back > rows - folded; --back) {
      is_still = is_still && (back > sizes.size() || sizes[sizes.size() - back] == 1);
    }
    still.push_back(is_still);
  }
  group->expect(std::move(forms), std::move(uniform), std::move(still));
  return compiled(std::move(group), bits);
}

inline const char* const kFolds[] = {"aten::sum.dim_IntList", "aten::mean.dim", "aten::amax",
                                     "aten::amin"};

}  // namespace tierup::codegen
