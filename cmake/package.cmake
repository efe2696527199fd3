# The release packages (make package): a relocatable .tar.gz and a .deb with the library, its headers
# and package file, the command, the code generator, and the licences of all that is compiled in or
# linked. What is linked stays a dependency: the .deb names the packages, found from the objects.

# Debian packages whose code is in our objects (headers) or beside them (shared libraries).
set(TIERUP_LICENSED
  libboost${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}-dev libcli11-dev libkissfft-dev  # Compiled in.
  libdnnl-dev libfmt-dev libsimdjson-dev zlib1g libgomp1 libstdc++6 libgcc-s1)  # Linked.
if(TARGET tierup_codegen_llvm)
  list(APPEND TIERUP_LICENSED libllvm19 libzstd1)
endif()
set(TIERUP_DOC_DIR share/doc/tierup)
install(FILES LICENSE README.md CHANGELOG.md DESTINATION ${TIERUP_DOC_DIR})
foreach(package ${TIERUP_LICENSED})
  # A missing one is found by make test-package, which compares with what the objects need.
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${TIERUP_DOC_DIR}/licences
    RENAME ${package} OPTIONAL)
endforeach()

# Packing does not build the tests.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
set(CPACK_GENERATOR TGZ DEB)
set(CPACK_PACKAGE_NAME tierup)
set(CPACK_PACKAGE_VENDOR tierup)
set(CPACK_PACKAGE_CONTACT "The tierup authors <tierup@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Runs PyTorch programs without PyTorch")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_RESOURCE_FILE_LICENSE ${CMAKE_SOURCE_DIR}/LICENSE)
set(CPACK_STRIP_FILES ON)
set(CPACK_VERBATIM_VARIABLES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# Loaded when a model needs linear algebra.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "libopenblas0 | liblapack3")
include(CPack)
