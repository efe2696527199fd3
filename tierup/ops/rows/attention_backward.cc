// Gradients of attention: the operators that its backward passes call.
#include "tierup/kernels/attention/attention_backward.h"

#include "tierup/ops/table/boxing.h"
#include "tierup/ops/table/families.h"

namespace tierup::ops {
namespace {

constexpr OpRow kRows[] = {
    {"aten::_scaled_dot_product_flash_attention_for_cpu_backward(Tensor grad_out, Tensor query, "
     "Tensor key, Tensor value, Tensor out, Tensor logsumexp, float dropout_p, bool is_causal, *, "
     "Tensor? attn_mask=None, float? scale=None) -> (Tensor grad_query, Tensor grad_key, Tensor "
     "grad_value)",
     boxed<&kernels::attention_backward>},
};

}  // namespace

std::span<const OpRow> attention_backward_rows() { return kRows; }

}  // namespace tierup::ops
