// The f64 rows with exponentials for AVX-512.
#include "tierup/kernels/gemm/row_doubles_body.h"
