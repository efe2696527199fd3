# The shared library with nothing but the public API in its symbol table, and the package that
# find_package(tierup CONFIG) finds wherever the prefix is moved to.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(tierup_shared SHARED ${CMAKE_SOURCE_DIR}/cmake/shared_library.cc)
# Linked as a whole: nothing inside the library refers to the public functions.
target_link_libraries(tierup_shared PRIVATE
  -Wl,--whole-archive tierup_api -Wl,--no-whole-archive)
target_link_options(tierup_shared PRIVATE
  -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/exports.map -Wl,--gc-sections)
set_target_properties(tierup_shared PROPERTIES
  OUTPUT_NAME tierup EXPORT_NAME tierup VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}
  LINK_DEPENDS ${CMAKE_SOURCE_DIR}/cmake/exports.map)
target_compile_features(tierup_shared INTERFACE cxx_std_20)
target_include_directories(tierup_shared INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)

install(TARGETS tierup_shared EXPORT tierupTargets LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(TARGETS tierup RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(DIRECTORY include/tierup DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT tierupTargets NAMESPACE tierup::
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tierup)
configure_package_config_file(cmake/tierupConfig.cmake.in ${CMAKE_BINARY_DIR}/tierupConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tierup)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tierupConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tierupConfig.cmake ${CMAKE_BINARY_DIR}/tierupConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/tierup)
