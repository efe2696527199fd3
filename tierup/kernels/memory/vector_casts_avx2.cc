// Narrow conversions for AVX2.
#include "tierup/kernels/memory/vector_casts_body.h"
