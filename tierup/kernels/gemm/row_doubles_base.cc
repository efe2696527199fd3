// The f64 rows with exponentials for the base level.
#include "tierup/kernels/gemm/row_doubles_body.h"
