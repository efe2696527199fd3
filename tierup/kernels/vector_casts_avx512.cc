// Narrow conversions for AVX-512.
#include "tierup/kernels/vector_casts_body.h"
