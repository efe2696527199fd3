// The shared library behind lapack.h.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>

#include "tierup/tensor/dtype.h"

namespace tierup::kernels::lapack {

enum class Routine : uint8_t {
  kPotrf,
  kPotri,
  kPotrs,
  kGetrf,
  kGetrs,
  kGeqrf,
  kOrgqr,
  kOrmqr,
  kGesdd,
  kHeevd,
  kGeev,
  kSytrf,
  kSytrs,
  kHetrf,
  kHetrs,
  kGels,
  kGelsy,
  kGelsd,
  kGelss,
  kTrsm,
  kCount,
};

// The address of a routine for float, double, complex64 or complex128. Loads the library on the
// first call; thread-safe. Throws kUnsupported if it or the routine is not there.
void* find_routine(Routine routine, ScalarType type);

// To be held while a routine runs: a lock of the whole library where it is not safe to be used by
// several threads at once, as Debian's libopenblas0-serial; else nothing. Loads the library.
std::unique_lock<std::mutex> enter_library();

// The kind of core for which the library's kernels were chosen, in OpenBLAS's words ("Haswell");
// empty for another library. Loads it as well.
std::string core_name();

}  // namespace tierup::kernels::lapack
