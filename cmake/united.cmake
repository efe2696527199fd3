# United sources: files of a target that are compiled at once share one compiler process and what
# they instantiate from common headers.
#
# `make` switches this on together with precompiled headers, for builds from nothing; whoever works
# on the sources leaves it off, since an edited file compiles its whole group again. Files with flags
# of their own stay by themselves. Groups are made when CMake runs: united_sources.py. All rooms, their
# tests, the code generator and the command are compiled so.
option(TIERUP_UNITY "Compile several files at once: shortens a build from nothing" OFF)
if(TIERUP_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # Once more is inlined, GCC 12 takes the room inside of Boost's small vectors for their bounds.
  add_compile_options(-Wno-array-bounds -Wno-stringop-overread)
endif()

# Into the list VARIABLE: sources in the build folder, named by PREFIX, that stand for these.
function(tierup_united prefix variable sources)
  if(NOT sources)
    return()
  endif()
  find_program(PYTHON3_PROGRAM python3 REQUIRED)
  file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/united)
  execute_process(
    COMMAND ${PYTHON3_PROGRAM} ${CMAKE_SOURCE_DIR}/cmake/united_sources.py
            ${CMAKE_BINARY_DIR}/united/${prefix}_ 80000 ${CMAKE_SOURCE_DIR} ${sources}
    OUTPUT_VARIABLE made OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "\n" ";" made "${made}")
  set(${variable} ${made} PARENT_SCOPE)
  # An edit may declare what another file of the group declares, too.
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
               ${sources} ${CMAKE_SOURCE_DIR}/cmake/united_sources.py)
endfunction()

# Replaces in the list VARIABLE what is compiled together; those that are small go by themselves.
function(tierup_unite name variable)
  if(NOT TIERUP_UNITY)
    return()
  endif()
  set(alone "")
  set(together "")
  set(small "")
  foreach(source ${${variable}})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(definitions ${source} COMPILE_DEFINITIONS)
    # Variants for instruction sets keep their names to themselves, with or without flags.
    if(options STREQUAL TIERUP_SMALL_FLAGS)
      list(APPEND small ${source})
    elseif(options OR definitions OR source MATCHES "_(base|avx2|avx512)\\.cc$")
      list(APPEND alone ${source})
    else()
      list(APPEND together ${source})
    endif()
  endforeach()
  tierup_united(${name} made "${together}")
  tierup_united(${name}_small made_small "${small}")
  if(made_small)
    set_source_files_properties(${made_small} PROPERTIES COMPILE_OPTIONS "${TIERUP_SMALL_FLAGS}")
  endif()
  set(${variable} ${alone} ${made} ${made_small} PARENT_SCOPE)
endfunction()
