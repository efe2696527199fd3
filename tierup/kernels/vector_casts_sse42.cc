// Narrow conversions for SSE4.2.
#include "tierup/kernels/vector_casts_body.h"
