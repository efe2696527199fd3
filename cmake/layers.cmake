# One static library per room, its links read from LAYERS; third-party libraries by room.
#
# Sources are all *.cc of the room but *_test.cc, which become the room's own test program
# (linked against that room only). A file named *_avx2.cc or *_avx512.cc is compiled for that
# instruction set, on x86-64 alone, and must only be entered after a run-time check; *_base.cc for
# what tierup needs of every processor.

if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
  set(TIERUP_BASE_FLAGS "-msse4.2;-mpopcnt")
  set(TIERUP_OTHER_LEVELS "^$")
  # Of TIERUP_INSTRUCTION_SET: all, and those that lower what most machines have.
  set(TIERUP_LEVELS sse42 avx2 avx512)
  set(TIERUP_LOWER_LEVELS sse42 avx2)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  set(TIERUP_BASE_FLAGS "")
  set(TIERUP_OTHER_LEVELS "_avx(2|512)\\.cc$")
  set(TIERUP_LEVELS base)
  set(TIERUP_LOWER_LEVELS base)
  # As on x86-64, whose compilers take a plain char for signed.
  add_compile_options(-fsigned-char)
else()
  message(FATAL_ERROR "tierup knows x86-64 and AArch64, not ${CMAKE_SYSTEM_PROCESSOR}")
endif()

set(TIERUP_THIRD_PARTY_base fmt::fmt OpenMP::OpenMP_CXX Threads::Threads Boost::headers)
set(TIERUP_THIRD_PARTY_kernels DNNL::dnnl ${CMAKE_DL_LIBS})
set(TIERUP_THIRD_PARTY_codegen ${CMAKE_DL_LIBS})
set(TIERUP_THIRD_PARTY_executor ${CMAKE_DL_LIBS})
set(TIERUP_THIRD_PARTY_archive ZLIB::ZLIB simdjson::simdjson)
set(TIERUP_THIRD_PARTY_frontend simdjson::simdjson)
set(TIERUP_THIRD_PARTY_api simdjson::simdjson)
set(TIERUP_THIRD_PARTY_cases simdjson::simdjson)

# Formulas of gradients, which mostly work once for each training program, are compiled for size,
# which takes a third away. Front ends are not: loading a model took up to a fifth longer; nor is
# the tape, which every operator of a step goes through.
set(TIERUP_SMALL_SOURCES "/ops/derivatives/")
set(TIERUP_SMALL_FLAGS $<$<NOT:$<CONFIG:Debug>>:-Os>)

function(tierup_isa_flags sources)
  foreach(source ${sources})
    if(source MATCHES "_base\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${TIERUP_BASE_FLAGS}")
    elseif(source MATCHES "_avx2\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c;-mbmi2")
    elseif(source MATCHES "_avx512\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS
        "-mavx2;-mfma;-mf16c;-mbmi2;-mavx512f;-mavx512dq;-mavx512bw;-mavx512vl;-mprefer-vector-width=512")
    elseif(source MATCHES "/kernels/(gemm/row_kernels|pointwise/runs_(integer|complex)|memory/cast|loss/pointwise_loss|reduce/reduce_(sum|nan|logical|extremum))\\.cc$")
      # Plain loops over many types that the compiler is to vectorise.
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-O3")
    elseif(source MATCHES "${TIERUP_SMALL_SOURCES}" AND NOT source MATCHES "_test\\.cc$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${TIERUP_SMALL_FLAGS}")
    endif()
    if(source MATCHES "/kernels/(memory/vector_casts_|norm/gradient_rows_)")
      # Vectors are wider than registers here; they never cross a call.
      set_property(SOURCE ${source} APPEND PROPERTY COMPILE_OPTIONS "-Wno-psabi")
    endif()
  endforeach()
endfunction()

function(tierup_layer name below)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tierup/${name}/*.cc)
  # Compiled into a shared object of its own: see codegen.cmake.
  list(FILTER sources EXCLUDE REGEX "/codegen/llvm/")
  list(FILTER sources EXCLUDE REGEX "${TIERUP_OTHER_LEVELS}")
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
  tierup_isa_flags("${sources}")
  tierup_unite(${name} sources)
  tierup_unite(${name}_test tests)
  if(sources)
    add_library(tierup_${name} STATIC ${sources})
    set(scope PUBLIC)
  else()
    add_library(tierup_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(tierup_${name} ${scope} ${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include)
  foreach(lower ${below})
    target_link_libraries(tierup_${name} ${scope} tierup_${lower})
  endforeach()
  target_link_libraries(tierup_${name} ${scope} ${TIERUP_THIRD_PARTY_${name}})
  if(name MATCHES "^(api|cases)$" AND sources)
    # Keeps the public headers' names out of namespace tierup, where the rooms have their own.
    target_compile_definitions(tierup_${name} PRIVATE TIERUP_BUILDING
                               TIERUP_VERSION="${PROJECT_VERSION}")
  endif()
  if(name STREQUAL "kernels" AND sources)
    target_include_directories(tierup_kernels PRIVATE ${KISSFFT_INCLUDE_DIR})
  endif()
  set(instrumented "")
  if(TIERUP_SANITIZE AND name IN_LIST TIERUP_SANITIZE_ROOMS)
    set(instrumented tierup_${name} ${name}_test)
  endif()
  # What is instrumented cannot read headers that were precompiled without.
  if(sources AND NOT name STREQUAL "base" AND NOT instrumented)
    if(name MATCHES "^(tensor|kernels|ir|archive|profile|training)$")
      tierup_precompile(tierup_${name} lower)
    else()
      tierup_precompile(tierup_${name} upper)
    endif()
  endif()
  if(TIERUP_TESTS AND tests)
    add_executable(${name}_test ${tests})
    if(NOT instrumented)
      tierup_precompile(${name}_test tests)
    endif()
    target_link_libraries(${name}_test PRIVATE tierup_${name} GTest::gtest GTest::gtest_main)
    if(name STREQUAL "ir")
      target_include_directories(ir_test PRIVATE ${RAPIDCHECK_INCLUDE_DIR})
      target_link_libraries(ir_test PRIVATE ${RAPIDCHECK_LIBRARY})
    endif()
    add_test(NAME unit.${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
  foreach(target ${instrumented})
    if(TARGET ${target})
      target_compile_options(${target} PRIVATE ${TIERUP_SANITIZE_FLAGS})
    endif()
  endforeach()
endfunction()

# Where the code generator is looked up; said before sources are united, which those with flags of
# their own are not.
include(GNUInstallDirs)
set_source_files_properties(${CMAKE_SOURCE_DIR}/tierup/codegen/library.cc PROPERTIES
  COMPILE_DEFINITIONS TIERUP_LIBRARY_FOLDER="${CMAKE_INSTALL_LIBDIR}")

function(tierup_layers)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/LAYERS)
  file(STRINGS ${CMAKE_SOURCE_DIR}/LAYERS lines REGEX "^[a-z]")
  foreach(line ${lines})
    string(REGEX MATCH "^([a-z]+):(.*)$" matched "${line}")
    set(name ${CMAKE_MATCH_1})
    string(STRIP "${CMAKE_MATCH_2}" below)
    string(REGEX REPLACE "[ \t]+" ";" below "${below}")
    tierup_layer(${name} "${below}")
  endforeach()
endfunction()
