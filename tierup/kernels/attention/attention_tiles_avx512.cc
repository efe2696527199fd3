// The inner loops of attention for one instruction set; see attention_tiles.h.
#include "tierup/kernels/attention/attention_rows_body.h"
#include "tierup/kernels/attention/attention_tiles_body.h"

namespace tierup::kernels {

AttentionKernels attention_kernels_avx512() { return kAttentionKernels; }

}  // namespace tierup::kernels
