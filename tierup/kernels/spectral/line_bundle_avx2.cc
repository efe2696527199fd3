// Bundles of lines for one instruction set; see line_bundle_body.h.
#include "tierup/kernels/spectral/line_bundle_body.h"

namespace tierup::kernels {

const BundleVariants& bundle_kernels_avx2() { return TIERUP_SIMD::kBundles; }

}  // namespace tierup::kernels
