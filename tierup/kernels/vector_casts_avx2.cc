// Narrow conversions for AVX2.
#include "tierup/kernels/vector_casts_body.h"
