// Sums of bags for one instruction set; see bag_sums_body.h.
#include "tierup/kernels/indexing/bag_sums_body.h"
#include "tierup/kernels/simd/instruction_set.h"

namespace tierup::kernels {

BagSum bag_sum_base() { return &sum_rows_of_bag; }
RowSum row_sum_base() { return &add_rows; }

RowSum row_sum() {
  return TIERUP_VARIANT(instruction_set(), row_sum_base, row_sum_avx2, row_sum_avx512)();
}

BagSum bag_sum() {
  return TIERUP_VARIANT(instruction_set(), bag_sum_base, bag_sum_avx2, bag_sum_avx512)();
}

}  // namespace tierup::kernels
