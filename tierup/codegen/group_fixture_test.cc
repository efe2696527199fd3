#include "tierup/codegen/group_fixture.h"

#include "tierup/base/parallel.h"
#include "tierup/kernels/memory/copy.h"

namespace tierup::codegen {
namespace {

bool same_element(ScalarType type, const char* a, const char* b) {
  if (std::memcmp(a, b, item_size(type)) == 0) return true;
  const auto both_nan = [&](auto tag) {
    using T = decltype(tag);
    T x;
    T y;
    std::memcpy(&x, a, sizeof(T));
    std::memcpy(&y, b, sizeof(T));
    return static_cast<float>(x) != static_cast<float>(x) &&
           static_cast<float>(y) != static_cast<float>(y);
  };
  switch (type) {
    case ScalarType::kFloat: return both_nan(float{});
    case ScalarType::kDouble: return both_nan(double{});
    case ScalarType::kBFloat16: return both_nan(BFloat16{});
    default: return false;
  }
}

}  // namespace

void expect_same(const Tensor& a, const Tensor& b, const std::string& what) {
  ASSERT_EQ(a.dtype(), b.dtype()) << what;
  ASSERT_EQ(shape_string(a.sizes()), shape_string(b.sizes())) << what;
  ASSERT_EQ(shape_string(a.strides()), shape_string(b.strides())) << what;
  const Tensor x = kernels::contiguous(a, MemoryFormat::kContiguous);
  const Tensor y = kernels::contiguous(b, MemoryFormat::kContiguous);
  const size_t width = x.item_size();
  int shown = 0;
  for (int64_t i = 0; i < x.numel() && shown < 3; ++i) {
    const size_t at = static_cast<size_t>(i) * width;
    if (same_element(x.dtype(), static_cast<const char*>(x.raw()) + at,
                     static_cast<const char*>(y.raw()) + at)) {
      continue;
    }
    ++shown;
    ADD_FAILURE() << what << ": element " << i << " of " << a.describe();
  }
}

void expect_twin(const ops::FusionGroup& group, const std::vector<Tensor>& inputs,
                 const std::string& what, By by) {
  const uint64_t before = group.compiled_runs();
  const auto fused = run_group(group, inputs);
  if (by != By::kEither) {
    EXPECT_EQ(group.compiled_runs(), before + (by == By::kKernel ? 1 : 0)) << what;
  }
  const ThreadCountScope one_thread(1);
  const auto alone = run_group(group, inputs);
  const auto plain = run_group(group, inputs, true);
  ASSERT_EQ(fused.size(), plain.size()) << what;
  for (size_t i = 0; i < plain.size(); ++i) {
    expect_same(fused[i], plain[i], what);
    expect_same(alone[i], plain[i], what + ", in one thread");
  }
}

}  // namespace tierup::codegen
