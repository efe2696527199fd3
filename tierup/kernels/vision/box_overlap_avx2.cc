// Overlaps of boxes for one instruction set; see box_overlap_body.h.
#include "tierup/kernels/vision/box_overlap_body.h"

namespace tierup::kernels {

BoxOverlaps box_overlaps_avx2() { return kBoxOverlaps; }

}  // namespace tierup::kernels
