// Narrow conversions for the base level.
#include "tierup/kernels/memory/vector_casts_body.h"
