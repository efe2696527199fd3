# Precompiled headers: half of a small file's time is spent on headers that nearly every file reads.
#
# `make` switches them on for builds from nothing; whoever works on the sources leaves them off, since
# then each file must include what it uses and an edited header rebuilds its readers alone. Four sets:
# for rooms below the operator table, for rooms from it upwards, for the command, for tests. A file
# with flags of its own (another instruction set) reads headers as text.
option(TIERUP_PCH "Precompile common headers: shortens a build from nothing" OFF)

set(TIERUP_PCH_STANDARD <algorithm> <array> <atomic> <bit> <cmath> <complex> <condition_variable> <cstring>
    <functional> <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <string>
    <string_view> <thread> <tuple> <unordered_map> <unordered_set> <utility> <variant> <vector>
    <fmt/format.h>)
set(TIERUP_PCH_LOWER ${TIERUP_PCH_STANDARD} <tierup/base/error.h>
    <tierup/base/parallel.h> <tierup/tensor/tensor.h>
    <tierup/tensor/ivalue.h>)
set(TIERUP_PCH_UPPER ${TIERUP_PCH_LOWER} <tierup/ir/graph_editor.h>
    <tierup/ops/table/boxing.h> <tierup/ops/table/op_table.h>)
set(TIERUP_PCH_COMMAND ${TIERUP_PCH_STANDARD} <CLI/CLI.hpp> <tierup/module.h>)
set(TIERUP_PCH_TESTS ${TIERUP_PCH_UPPER} <gtest/gtest.h> <gmock/gmock.h>)

function(tierup_precompiled_set name headers)
  set(source ${CMAKE_BINARY_DIR}/precompiled_${name}.cc)
  file(CONFIGURE OUTPUT ${source} CONTENT "// Nothing but the headers.\n")
  add_library(tierup_pch_${name} OBJECT ${source})
  target_include_directories(tierup_pch_${name} PRIVATE ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  target_link_libraries(tierup_pch_${name} PRIVATE fmt::fmt OpenMP::OpenMP_CXX Threads::Threads
                        Boost::headers)
  target_precompile_headers(tierup_pch_${name} PRIVATE ${headers})
  if(CMAKE_CXX_COMPILER_LAUNCHER)
    set_target_properties(tierup_pch_${name} PROPERTIES CXX_COMPILER_LAUNCHER
        "sh;${CMAKE_SOURCE_DIR}/cmake/compile_header_set.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
  endif()
endfunction()

# Flags must match: programs are compiled otherwise than libraries.
function(tierup_precompiled_program_set name headers)
  tierup_precompiled_set(${name} "${headers}")
  set_target_properties(tierup_pch_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(tierup_pch_${name} PRIVATE -fPIE)
endfunction()

# All sets; before any target that uses one.
function(tierup_precompiled_sets)
  if(NOT TIERUP_PCH)
    return()
  endif()
  tierup_precompiled_set(lower "${TIERUP_PCH_LOWER}")
  tierup_precompiled_set(upper "${TIERUP_PCH_UPPER}")
  tierup_precompiled_program_set(command "${TIERUP_PCH_COMMAND}")
  if(TIERUP_TESTS)
    tierup_precompiled_program_set(tests "${TIERUP_PCH_TESTS}")
    target_link_libraries(tierup_pch_tests PRIVATE GTest::gtest)
  endif()
endfunction()

# Lets a target read one of the sets, but for its sources with flags of their own.
function(tierup_precompile target name)
  if(NOT TIERUP_PCH)
    return()
  endif()
  target_precompile_headers(${target} REUSE_FROM tierup_pch_${name})
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${source} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
    endif()
  endforeach()
endfunction()
