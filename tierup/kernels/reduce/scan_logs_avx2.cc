// Running logarithms of sums of exponentials for AVX2.
#include "tierup/kernels/reduce/scan_logs_body.h"
