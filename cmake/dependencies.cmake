# Every third-party library, found here and named per room in layers.cmake.
find_package(Threads REQUIRED)
find_package(OpenMP REQUIRED)
find_package(fmt QUIET)
find_package(ZLIB QUIET)
find_package(Boost QUIET)
# oneDNN's own package file asks for the OpenCL headers of its GPU part, which tierup does not use.
find_path(DNNL_INCLUDE_DIR dnnl.hpp)
find_library(DNNL_LIBRARY dnnl)
find_package(simdjson QUIET)
find_path(KISSFFT_INCLUDE_DIR kiss_fft.h PATH_SUFFIXES kissfft)
# Whether each is there, and Debian's package of it.
set(wanted fmt_FOUND libfmt-dev ZLIB_FOUND zlib1g-dev Boost_FOUND libboost-dev
           DNNL_INCLUDE_DIR libdnnl-dev DNNL_LIBRARY libdnnl-dev simdjson_FOUND libsimdjson-dev
           KISSFFT_INCLUDE_DIR libkissfft-dev)
if(TIERUP_TESTS)
  find_package(GTest QUIET)
  find_path(RAPIDCHECK_INCLUDE_DIR rapidcheck.h)
  find_library(RAPIDCHECK_LIBRARY rapidcheck)
  list(APPEND wanted GTest_FOUND libgtest-dev RAPIDCHECK_INCLUDE_DIR librapidcheck-dev
              RAPIDCHECK_LIBRARY librapidcheck-dev)
endif()
set(missing "")
while(wanted)
  list(POP_FRONT wanted found package)
  if(NOT ${found})
    list(APPEND missing ${package})
  endif()
endwhile()
if(missing)
  list(REMOVE_DUPLICATES missing)
  list(JOIN missing " " missing)
  message(FATAL_ERROR "tierup is built over libraries that are not here. On Debian and Ubuntu:\n"
                      "  apt-get install ${missing}\n"
                      "(tools/setup.sh installs everything that building and testing needs.)")
endif()
add_library(DNNL::dnnl UNKNOWN IMPORTED)
set_target_properties(DNNL::dnnl PROPERTIES IMPORTED_LOCATION ${DNNL_LIBRARY}
                      INTERFACE_INCLUDE_DIRECTORIES ${DNNL_INCLUDE_DIR})
