# The binary, the libraries, the headers and a CMake package: find_package(rafter) then link rafter::rafter.
# The cli layer is the binary's own: it is no part of the library.
include(CMakePackageConfigHelpers)
get_property(layers GLOBAL PROPERTY RAFTER_LAYERS)
list(REMOVE_ITEM layers rafter_cli)

add_library(rafter_all INTERFACE)
target_link_libraries(rafter_all INTERFACE ${layers})
target_compile_features(rafter_all INTERFACE cxx_std_20)
set_target_properties(rafter_all PROPERTIES EXPORT_NAME rafter)

install(TARGETS rafter_cli_main RUNTIME)
install(TARGETS rafter_all ${layers} EXPORT rafter-targets ARCHIVE)
install(DIRECTORY rafter DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h" PATTERN "rafter/cli" EXCLUDE
  PATTERN "rafter/measure/inject" EXCLUDE)
install(EXPORT rafter-targets NAMESPACE rafter:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rafter)
configure_package_config_file(${CMAKE_SOURCE_DIR}/cmake/rafter-config.cmake.in ${CMAKE_BINARY_DIR}/rafter-config.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rafter)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rafter-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/rafter-config.cmake ${CMAKE_BINARY_DIR}/rafter-config-version.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/rafter)
