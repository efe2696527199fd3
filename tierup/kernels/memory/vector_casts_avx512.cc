// Narrow conversions for AVX-512.
#include "tierup/kernels/memory/vector_casts_body.h"
