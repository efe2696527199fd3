// Sums of bags for one instruction set; see bag_sums_body.h.
#include "tierup/kernels/indexing/bag_sums_body.h"

namespace tierup::kernels {

BagSum bag_sum_avx2() { return &sum_rows_of_bag; }
RowSum row_sum_avx2() { return &add_rows; }

}  // namespace tierup::kernels
