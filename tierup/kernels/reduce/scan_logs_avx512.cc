// Running logarithms of sums of exponentials for AVX-512.
#include "tierup/kernels/reduce/scan_logs_body.h"
