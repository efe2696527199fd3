# The code generator: a shared object of its own, the only one that links LLVM. It is loaded when a
# compile job first needs it, so nothing else depends on it. LLVM is found by header and library:
# its package file wants development packages of everything that LLVM itself links. The parts that it
# uses are linked in (decision 0042), or the whole shared library where those cannot be had.
function(tierup_find_llvm_parts result)
  set(${result} "" PARENT_SCOPE)
  find_program(LLVM_CONFIG NAMES llvm-config-19 llvm-config HINTS /usr/lib/llvm-19/bin)
  find_library(ZSTD_LIBRARY zstd)
  if(CMAKE_CROSSCOMPILING OR NOT LLVM_CONFIG OR NOT ZSTD_LIBRARY)
    return()
  endif()
  # Fails if a file is missing.
  execute_process(COMMAND ${LLVM_CONFIG} --link-static --libfiles orcjit passes nativecodegen
                  OUTPUT_VARIABLE files OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE status
                  ERROR_QUIET)
  execute_process(COMMAND ${LLVM_CONFIG} --version OUTPUT_VARIABLE version ERROR_QUIET)
  if(status EQUAL 0 AND version MATCHES "^19\\.")
    separate_arguments(files UNIX_COMMAND "${files}")
    set(${result} ${files} ${ZSTD_LIBRARY} ZLIB::ZLIB PARENT_SCOPE)
  endif()
endfunction()

include(CheckLinkerFlag)
if(TIERUP_LLVM)
  find_path(LLVM_INCLUDE_DIR llvm/ExecutionEngine/Orc/LLJIT.h HINTS /usr/lib/llvm-19/include)
  tierup_find_llvm_parts(llvm_parts)
  if(NOT llvm_parts)
    find_library(LLVM_LIBRARY NAMES LLVM-19 HINTS /usr/lib/llvm-19/lib)
  endif()
  if(LLVM_INCLUDE_DIR AND (llvm_parts OR LLVM_LIBRARY))
    file(GLOB codegen_sources CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/tierup/codegen/llvm/*.cc)
    tierup_unite(codegen_llvm codegen_sources)
    add_library(tierup_codegen_llvm MODULE ${codegen_sources})
    target_include_directories(tierup_codegen_llvm PRIVATE ${CMAKE_SOURCE_DIR})
    target_include_directories(tierup_codegen_llvm SYSTEM PRIVATE ${LLVM_INCLUDE_DIR})
    if(llvm_parts)
      # Another LLVM may be in the process: no name of this one is seen.
      target_link_options(tierup_codegen_llvm PRIVATE -Wl,--gc-sections -Wl,--exclude-libs,ALL
                          -Wl,--as-needed)
      # Two megabytes of relocations in a fiftieth of their room, where linker and C library know how.
      check_linker_flag(CXX -Wl,-z,pack-relative-relocs TIERUP_PACKS_RELOCATIONS)
      if(TIERUP_PACKS_RELOCATIONS)
        target_link_options(tierup_codegen_llvm PRIVATE -Wl,-z,pack-relative-relocs)
      endif()
      target_link_libraries(tierup_codegen_llvm PRIVATE ${llvm_parts})
    else()
      target_link_libraries(tierup_codegen_llvm PRIVATE ${LLVM_LIBRARY})
    endif()
    set_target_properties(tierup_codegen_llvm PROPERTIES
      PREFIX "lib" OUTPUT_NAME tierup_codegen LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR})
    if(TARGET codegen_test)
      add_dependencies(codegen_test tierup_codegen_llvm)
      target_compile_definitions(codegen_test PRIVATE TIERUP_BUILDS_CODEGEN)
      foreach(instructions ${TIERUP_LOWER_LEVELS})
        add_test(NAME unit.codegen_products_${instructions}
                 COMMAND codegen_test --gtest_filter=Products.*
                 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        set_tests_properties(unit.codegen_products_${instructions} PROPERTIES
          ENVIRONMENT TIERUP_INSTRUCTION_SET=${instructions})
      endforeach()
    endif()
    install(TARGETS tierup_codegen_llvm LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  else()
    message(STATUS "LLVM 19 not found: tier 1 runs without compiled fusion groups")
  endif()
endif()
