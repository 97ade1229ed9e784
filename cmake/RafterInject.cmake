# librafter_inject.so: what `rafter trace -- CMD` has the CUDA driver load into the traced program (rafter/measure/inject).
# That program has its own libraries, of any version: the C++ runtime and fmt are part of ours, and it shows its entry points only.
set(measure ${CMAKE_SOURCE_DIR}/rafter/measure)
add_library(rafter_inject MODULE
  ${measure}/inject/entry.cpp ${measure}/inject/injected_recorder.cpp
  ${measure}/cuda/activity_decoder.cpp ${measure}/cuda/activity_recorder.cpp ${measure}/cuda/cupti.cpp
  ${measure}/recording/recording_writer.cpp ${CMAKE_SOURCE_DIR}/rafter/base/error.cpp)
set_target_properties(rafter_inject PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
  CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON LINK_DEPENDS ${measure}/inject/exports.map)
target_include_directories(rafter_inject PRIVATE ${CMAKE_SOURCE_DIR})
target_link_libraries(rafter_inject PRIVATE rafter_options rafter_cupti_header fmt::fmt-header-only Threads::Threads ${CMAKE_DL_LIBS})
target_link_options(rafter_inject PRIVATE -static-libstdc++ -static-libgcc LINKER:--exclude-libs,ALL
  LINKER:-Bsymbolic LINKER:-z,defs LINKER:--version-script=${measure}/inject/exports.map)
install(TARGETS rafter_inject LIBRARY DESTINATION lib)  # the binary looks for it in ../lib
