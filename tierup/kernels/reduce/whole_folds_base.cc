// The folds of integers for the base level; see whole_folds_body.h.
#include "tierup/kernels/reduce/whole_folds_body.h"

namespace tierup::kernels {

const WholeFoldTable& whole_folds_base() { return kWholeFolds; }

}  // namespace tierup::kernels
