// The f32 gradient rows for one instruction set; see gradient_rows_body.h.
#include "tierup/kernels/norm/gradient_rows_body.h"

namespace tierup::kernels {

GradientRows<float> gradient_rows_avx512() { return kGradientRows; }

}  // namespace tierup::kernels
