// Narrow conversions for SSE4.2.
#include "tierup/kernels/memory/vector_casts_body.h"
